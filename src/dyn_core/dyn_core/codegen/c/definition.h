// SPDX-License-Identifier: Apache-2.0
// The module of the functions that are named before it; comes last.

static int execute(PyObject *Py_UNUSED(module))
{
    import_array1(-1);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dyn_program", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_dyn_program(void) { return PyModuleDef_Init(&definition); }
