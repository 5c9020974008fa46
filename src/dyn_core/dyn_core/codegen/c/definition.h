// SPDX-License-Identifier: Apache-2.0
// The module that a program is; comes last.

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, NULL},
    {"into", (PyCFunction)(void (*)(void))into, METH_FASTCALL, NULL},
    {"into_at", (PyCFunction)(void (*)(void))into_at, METH_FASTCALL, NULL},
#ifdef PASSIVE
    {"step", (PyCFunction)(void (*)(void))step, METH_FASTCALL, NULL},
    {"present", (PyCFunction)(void (*)(void))present, METH_FASTCALL, NULL},
#endif
    {NULL, NULL, 0, NULL}};

static int execute(PyObject *Py_UNUSED(module))
{
    import_array1(-1);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dyn_program", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_dyn_program(void) { return PyModuleDef_Init(&definition); }
