// SPDX-License-Identifier: Apache-2.0
// A program as a function of Python; comes after the code of the program.
//
// `bind(general)` answers a function that computes at once what is given as NumPy arrays of the right
// type, shape and order, and hands every other call to the Python function `general`. `into` is the same
// for arrays that are known to be right, with the array of the results as the last argument.

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

static const npy_intp sizes[INPUTS] = INPUT_SIZES;
static const npy_intp shape[RESULT_DIMENSIONS] = RESULT_SHAPE;

// The result of a sample with an input that is not finite is NaN throughout, also where the result does
// not depend on that input: 0 * x is NaN for such an x, and 0 otherwise.
static inline double doubt(const double *const *inputs)
{
    double sum = 0.0;
    for (int i = 0; i < INPUTS; ++i) {
        for (npy_intp k = 0; k < sizes[i]; ++k) {
            sum += 0.0 * inputs[i][k];
        }
    }
    return sum;
}

static void compute_one(const double *const *inputs, double *out)
{
    enum { BLOCKS = (ANGLES + LANES - 1) / LANES + (ANGLES == 0) };
    union {
        Lanes lanes[BLOCKS];
        double values[BLOCKS * LANES];
    } angle = {.values = {0.0}}, sine, cosine;
    angles_double(inputs, angle.values);
    for (int block = 0; block * LANES < ANGLES; ++block) {
        sincos_lanes(angle.lanes[block], &sine.lanes[block], &cosine.lanes[block]);
    }
    program_double(inputs, sine.values, cosine.values, out);
    const double spoilt = doubt(inputs);
    if (spoilt != 0.0) {
        for (int k = 0; k < RESULTS; ++k) {
            out[k] = spoilt;
        }
    }
}

// One sample for each lane.
static void compute_block(const double *const *inputs, double *out)
{
    Lanes given[INPUT_TOTAL];
    const Lanes *pointers[INPUTS];
    Lanes angle[ANGLES > 0 ? ANGLES : 1], sine[ANGLES > 0 ? ANGLES : 1], cosine[ANGLES > 0 ? ANGLES : 1];
    Lanes results[RESULTS];
    const Lanes zero = {0.0};
    Lanes spoilt = zero;
    Lanes *next = given;
    for (int i = 0; i < INPUTS; ++i) {
        pointers[i] = next;
        for (npy_intp k = 0; k < sizes[i]; ++k, ++next) {
            Lanes value = zero;
#pragma GCC unroll 8
            for (int lane = 0; lane < LANES; ++lane) {
                value[lane] = inputs[i][lane * sizes[i] + k];
            }
            *next = value;
            spoilt += 0.0 * value;
        }
    }
    angles_lanes(pointers, angle);
    for (int k = 0; k < ANGLES; ++k) {
        sincos_lanes(angle[k], &sine[k], &cosine[k]);
    }
    program_lanes(pointers, sine, cosine, results);
    for (int k = 0; k < RESULTS; ++k) {
        const Lanes result = choose((Bits)(spoilt == zero), results[k], spoilt);
#pragma GCC unroll 8
        for (int lane = 0; lane < LANES; ++lane) {
            out[lane * RESULTS + k] = result[lane];
        }
    }
}

// The samples that are left when all blocks are full, among zeros.
static void compute_rest(const double *const *inputs, double *out, npy_intp samples)
{
    double given[LANES * INPUT_TOTAL], results[LANES * RESULTS];
    const double *pointers[INPUTS];
    double *next = given;
    memset(given, 0, sizeof given);
    for (int i = 0; i < INPUTS; ++i) {
        pointers[i] = next;
        memcpy(next, inputs[i], sizeof(double) * (size_t)(samples * sizes[i]));
        next += LANES * sizes[i];
    }
    compute_block(pointers, results);
    memcpy(out, results, sizeof(double) * (size_t)(samples * RESULTS));
}

static void compute_batch(const double *const *inputs, double *out, npy_intp samples)
{
    const double *here[INPUTS];
    memcpy(here, inputs, sizeof here);
    for (; samples >= LANES; samples -= LANES, out += LANES * RESULTS) {
        compute_block(here, out);
        for (int i = 0; i < INPUTS; ++i) {
            here[i] += LANES * sizes[i];
        }
    }
    if (samples > 0) {
        compute_rest(here, out, samples);
    }
}

// Whether the arguments are float64 arrays in C order, all (size,) or all (N, size). -1: one sample.
static int fit(PyObject *const *args, const double **inputs, npy_intp *samples)
{
    for (int i = 0; i < INPUTS; ++i) {
        PyArrayObject *array = (PyArrayObject *)args[i];
        if (!PyArray_CheckExact(args[i]) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array)) {
            return 0;
        }
        const int dimensions = PyArray_NDIM(array);
        if (dimensions != 1 && dimensions != 2) {
            return 0;
        }
        const npy_intp count = dimensions == 1 ? -1 : PyArray_DIM(array, 0);
        if (PyArray_DIM(array, dimensions - 1) != sizes[i] || (i > 0 && count != *samples)) {
            return 0;
        }
        *samples = count;
        inputs[i] = (const double *)PyArray_DATA(array);
    }
    return 1;
}

static void compute(const double *const *inputs, npy_intp samples, double *out)
{
    if (samples < 0) {
        compute_one(inputs, out);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    compute_batch(inputs, out, samples);
    Py_END_ALLOW_THREADS
}

static PyObject *call(PyObject *general, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const double *inputs[INPUTS];
    npy_intp samples = -1;
    if (count != INPUTS || (names != NULL && PyTuple_GET_SIZE(names) > 0) || !fit(args, inputs, &samples)) {
        return PyObject_Vectorcall(general, args, (size_t)count, names);
    }
    npy_intp dimensions[RESULT_DIMENSIONS + 1];
    int used = 0;
    if (samples >= 0) {
        dimensions[used++] = samples;
    }
    for (int k = 0; k < RESULT_DIMENSIONS; ++k) {
        dimensions[used++] = shape[k];
    }
    PyObject *out = PyArray_SimpleNew(used, dimensions, NPY_DOUBLE);
    if (out != NULL) {
        compute(inputs, samples, (double *)PyArray_DATA((PyArrayObject *)out));
    }
    return out;
}

static PyObject *into(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    const double *inputs[INPUTS];
    npy_intp samples = -1;
    PyArrayObject *out = count == INPUTS + 1 ? (PyArrayObject *)args[INPUTS] : NULL;
    if (out == NULL || !fit(args, inputs, &samples) || !PyArray_CheckExact(args[INPUTS])
        || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)
        || PyArray_SIZE(out) != RESULTS * (samples < 0 ? 1 : samples)) {
        PyErr_SetString(PyExc_TypeError, FUNCTION_NAME ": arguments that were not prepared");
        return NULL;
    }
    compute(inputs, samples, (double *)PyArray_DATA(out));
    Py_RETURN_NONE;
}

static PyMethodDef bound = {
    FUNCTION_NAME, (PyCFunction)(void (*)(void))call, METH_FASTCALL | METH_KEYWORDS, FUNCTION_DOC};

static PyObject *bind(PyObject *Py_UNUSED(self), PyObject *general) { return PyCFunction_New(&bound, general); }

static PyMethodDef functions[] = {
    {"bind", bind, METH_O, NULL},
    {"into", (PyCFunction)(void (*)(void))into, METH_FASTCALL, NULL},
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
