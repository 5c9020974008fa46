// SPDX-License-Identifier: Apache-2.0
// What the module of a program has; comes before definition.h.

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, NULL},
    {"into", (PyCFunction)(void (*)(void))into, METH_FASTCALL, NULL},
    {"into_at", (PyCFunction)(void (*)(void))into_at, METH_FASTCALL, NULL},
#ifdef PASSIVE
    {"step", (PyCFunction)(void (*)(void))step, METH_FASTCALL, NULL},
    {"present", (PyCFunction)(void (*)(void))present, METH_FASTCALL, NULL},
#endif
    {NULL, NULL, 0, NULL}};
