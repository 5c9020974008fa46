// SPDX-License-Identifier: Apache-2.0
// A program as a Python function; comes after the code of the program, before functions.h.
//
// `bind(general, prepared)` returns a function that takes NumPy arrays of the right type, shape and order,
// by position or by name, with or without the array `out` by name, and computes at once. It passes every
// other call to the Python function `general`. `into` is the same for arrays that are known to be right;
// its last argument is the array of the results.
//
// A program with UNKNOWNS solves for them first. Where it cannot for a sample, the function of `bind` calls
// `general`; `into` returns the number of the sample instead of None. `into_at` takes the unknowns as one
// more array, a vector after the inputs: there are VECTORS arrays in all.
//
// The first GUARDED results of a program are not finite where its inputs cannot be used. The function of
// `bind` then calls `general`, which raises the error with the reason.
//
// A TUNABLE program takes one more array of values prepared from parameters; it reads the first
// PREPARED numbers. For `bind` it is item 0 of the list `prepared`, where it can be replaced but is never
// written to. For `into` it follows the inputs.

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

static const npy_intp sizes[VECTORS] = VECTOR_SIZES;
static const npy_intp rows[VECTORS] = VECTOR_ROWS;
static const npy_intp shape[RESULT_DIMENSIONS] = RESULT_SHAPE;

// Where the results are that the program stores; the others are 0.
static const int places[] = PLACES;

// The result of a sample with an input that is not finite is NaN throughout, also where the result does
// not depend on that input: 0 * x is NaN for such an x, and 0 otherwise.
static inline double nan_of_inputs(const double *const *inputs, int vectors)
{
    double sum = 0.0;
    for (int i = 0; i < vectors; ++i) {
        for (npy_intp k = 0; k < sizes[i]; ++k) {
            sum += 0.0 * inputs[i][k];
        }
    }
    return sum;
}

static inline void fill_with_nan(double *out, double nan_or_zero)
{
    if (nan_or_zero != 0.0) {
        for (int k = 0; k < RESULTS; ++k) {
            out[k] = nan_or_zero;
        }
    }
}

WHOLE(evaluate, , ANGLES)

static void compute_one(const double *const *inputs, const double *p, double *out)
{
    if (STORED < RESULTS) {
        memset(out, 0, sizeof(double) * RESULTS);
    }
    evaluate(inputs, p, out);
    fill_with_nan(out, nan_of_inputs(inputs, VECTORS));
}

// Compute one sample in each lane; return NaN for lanes with an input that is not finite, else 0.
static Lanes compute_block(const double *const *inputs, const double *p, Lanes *results)
{
    Lanes given[VECTOR_TOTAL];
    const Lanes *pointers[VECTORS];
    Lanes angle[ANGLES > 0 ? ANGLES : 1], sine[ANGLES > 0 ? ANGLES : 1], cosine[ANGLES > 0 ? ANGLES : 1];
    const Lanes zero = {0.0};
    Lanes nan_or_zero = zero;
    Lanes *next = given;
    for (int i = 0; i < VECTORS; ++i) {
        pointers[i] = next;
        for (npy_intp k = 0; k < sizes[i]; ++k, ++next) {
            Lanes value = zero;
#pragma GCC unroll 8
            for (int lane = 0; lane < LANES; ++lane) {
                value[lane] = inputs[i][lane * sizes[i] + k];
            }
            *next = value;
            nan_or_zero += 0.0 * value;
        }
    }
    angles_lanes(pointers, p, angle);
    for (int k = 0; k < ANGLES; ++k) {
        sincos_lanes(angle[k], &sine[k], &cosine[k]);
    }
    program_lanes(pointers, p, sine, cosine, results);
    return nan_or_zero;
}

// Put the results of the first lanes, as many as there are samples, where they belong.
static inline void scatter(const Lanes *results, Lanes nan_or_zero, double *out, int samples)
{
    if (STORED < RESULTS) {
        memset(out, 0, sizeof(double) * RESULTS * (size_t)samples);
    }
    for (int k = 0; k < STORED; ++k) {
        const npy_intp place = STORED < RESULTS ? places[k] : k;
#pragma GCC unroll 8
        for (int lane = 0; lane < samples; ++lane) {
            out[lane * RESULTS + place] = results[k][lane];
        }
    }
    for (int lane = 0; lane < samples; ++lane) {
        fill_with_nan(out + lane * RESULTS, nan_or_zero[lane]);
    }
}

static void compute_batch(const double *const *inputs, const double *p, double *out, npy_intp samples)
{
    Lanes results[STORED > 0 ? STORED : 1];
    double padded[LANES * VECTOR_TOTAL];
    const double *here[VECTORS];
    memcpy(here, inputs, sizeof here);
    for (; samples >= LANES; samples -= LANES, out += LANES * RESULTS) {
        const Lanes nan_or_zero = compute_block(here, p, results);
        scatter(results, nan_or_zero, out, LANES);
        for (int i = 0; i < VECTORS; ++i) {
            here[i] += LANES * sizes[i];
        }
    }
    if (samples == 0) {
        return;
    }
    // The samples that are left when all blocks are full are computed among zeros.
    double *next = padded;
    memset(padded, 0, sizeof padded);
    for (int i = 0; i < VECTORS; ++i) {
        memcpy(next, here[i], sizeof(double) * (size_t)(samples * sizes[i]));
        here[i] = next;
        next += LANES * sizes[i];
    }
    const Lanes nan_or_zero = compute_block(here, p, results);
    scatter(results, nan_or_zero, out, (int)samples);
}

// Whether the arguments are inputs: how many of the last dimensions of an array belong to one sample of input
// i, 1 for a vector or 2 for a matrix; return 0 if it is neither.
static int dimensions_of(PyArrayObject *array, int i)
{
    const int dimensions = PyArray_NDIM(array);
    if (dimensions >= 1 && PyArray_DIM(array, dimensions - 1) == sizes[i]) {
        return 1;
    }
    return rows[i] > 0 && dimensions >= 2 && PyArray_DIM(array, dimensions - 2) == rows[i]
                   && PyArray_DIM(array, dimensions - 1) * rows[i] == sizes[i]
               ? 2
               : 0;
}

// Whether the arguments are float64 arrays in C order, all (size,) or all (N, size), or so many matrices
// where an input is one. -1: one sample.
static int fit(PyObject *const *args, int count, const double **inputs, npy_intp *samples)
{
    for (int i = 0; i < count; ++i) {
        PyArrayObject *array = (PyArrayObject *)args[i];
        if (!PyArray_CheckExact(args[i]) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array)) {
            return 0;
        }
        const int own = dimensions_of(array, i);
        const int over = PyArray_NDIM(array) - own;
        if (own == 0 || over > 1) {
            return 0;
        }
        const npy_intp length = over == 0 ? -1 : PyArray_DIM(array, 0);
        if (i > 0 && length != *samples) {
            return 0;
        }
        *samples = length;
        inputs[i] = (const double *)PyArray_DATA(array);
    }
    return 1;
}

// Compute one sample, samples < 0, or a batch, of vectors that are all known.
static void compute_known(const double *const *vectors, const double *p, npy_intp samples, double *out)
{
    if (samples < 0) {
        compute_one(vectors, p, out);
    } else {
        compute_batch(vectors, p, out, samples);
    }
}

#if UNKNOWNS
// Number of samples whose unknowns are kept at a time.
#define PORTION (8 * LANES)

// Solve for the unknowns, then compute; return the first sample without a solution, or -1.
static npy_intp compute_here(const double *const *inputs, const double *p, npy_intp samples, double *out)
{
    double x[PORTION * UNKNOWNS];
    const double *vectors[VECTORS];
    const npy_intp all = samples < 0 ? 1 : samples;
    for (npy_intp first = 0; first < all; first += PORTION) {
        const npy_intp count = all - first < PORTION ? all - first : PORTION;
        for (npy_intp k = 0; k < count; ++k) {
            for (int i = 0; i < INPUTS; ++i) {
                vectors[i] = inputs[i] + (first + k) * sizes[i];
            }
            if (nan_of_inputs(vectors, INPUTS) != 0.0) { // whose results are NaN, whatever the unknowns
                memset(x + k * UNKNOWNS, 0, sizeof(double) * UNKNOWNS);
            } else if (!solve(vectors, x + k * UNKNOWNS)) {
                return first + k;
            }
        }
        for (int i = 0; i < INPUTS; ++i) {
            vectors[i] = inputs[i] + first * sizes[i];
        }
        vectors[INPUTS] = x;
        compute_known(vectors, p, samples < 0 ? -1 : count, out + first * RESULTS);
    }
    return -1;
}
#else
static npy_intp compute_here(const double *const *inputs, const double *p, npy_intp samples, double *out)
{
    compute_known(inputs, p, samples, out);
    return -1;
}
#endif

static npy_intp compute(const double *const *inputs, const double *p, npy_intp samples, double *out)
{
    npy_intp open;
    if (samples < 0) {
        return compute_here(inputs, p, samples, out);
    }
    Py_BEGIN_ALLOW_THREADS
    open = compute_here(inputs, p, samples, out);
    Py_END_ALLOW_THREADS
    return open;
}

// Whether an object is the array that this program needs beside its inputs.
static int is_prepared(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array)
           && PyArray_SIZE(array) >= PREPARED;
}

// Put arguments by position and by name in their places, `out` after the inputs. 0: some are others.
static int sorted(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **given)
{
    static const char *const known[INPUTS + 1] = {INPUT_NAMES, "out"};
    const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count > INPUTS || count + named > INPUTS + 1) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        given[i] = args[i];
    }
    for (Py_ssize_t k = 0; k < named; ++k) {
        Py_ssize_t i = count;
        while (i <= INPUTS && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), known[i]) != 0) {
            ++i;
        }
        if (i > INPUTS) {
            return 0;
        }
        given[i] = args[count + k];
    }
    for (int i = 0; i < INPUTS; ++i) {
        if (given[i] == NULL) {
            return 0;
        }
    }
    return 1;
}

// Whether an array takes the results of so many samples and shares no memory with the inputs.
static int takes(PyObject *object, const double *const *inputs, npy_intp samples)
{
    PyArrayObject *out = (PyArrayObject *)object;
    const int batch = samples >= 0;
    if (!PyArray_CheckExact(object) || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)
        || PyArray_NDIM(out) != RESULT_DIMENSIONS + batch || (batch && PyArray_DIM(out, 0) != samples)) {
        return 0;
    }
    for (int k = 0; k < RESULT_DIMENSIONS; ++k) {
        if (PyArray_DIM(out, k + batch) != shape[k]) {
            return 0;
        }
    }
    const double *begin = (const double *)PyArray_DATA(out), *end = begin + PyArray_SIZE(out);
    for (int i = 0; i < INPUTS; ++i) {
        if (inputs[i] < end && begin < inputs[i] + sizes[i] * (batch ? samples : 1)) {
            return 0;
        }
    }
    return 1;
}

#if GUARDED
// Return the first sample with a guarded result that is not finite, or -1.
static npy_intp refused(const double *out, npy_intp samples)
{
    const npy_intp all = samples < 0 ? 1 : samples;
    for (npy_intp k = 0; k < all; ++k) {
        for (int i = 0; i < GUARDED; ++i) {
            if (!isfinite(out[k * RESULTS + i])) {
                return k;
            }
        }
    }
    return -1;
}
#endif

static PyObject *not_prepared(void)
{
    PyErr_SetString(PyExc_TypeError, FUNCTION_NAME ": arguments that were not prepared");
    return NULL;
}

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const double *inputs[INPUTS];
    npy_intp samples = -1;
    PyObject *given[INPUTS + 1] = {NULL};
    if (!sorted(args, count, names, given) || !fit(given, INPUTS, inputs, &samples)
        || (given[INPUTS] != NULL && !takes(given[INPUTS], inputs, samples))) {
        return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), args, (size_t)count, names);
    }
    const double *p = NULL;
#if TUNABLE
    // This reference keeps the array while another thread replaces it.
    PyObject *prepared = PySequence_GetItem(PyTuple_GET_ITEM(self, 1), 0);
    if (prepared == NULL || !is_prepared(prepared)) {
        Py_XDECREF(prepared);
        return not_prepared();
    }
    p = (const double *)PyArray_DATA((PyArrayObject *)prepared);
#endif
    npy_intp dimensions[RESULT_DIMENSIONS + 1];
    int used = 0;
    if (samples >= 0) {
        dimensions[used++] = samples;
    }
    for (int k = 0; k < RESULT_DIMENSIONS; ++k) {
        dimensions[used++] = shape[k];
    }
    PyObject *out = given[INPUTS];
    npy_intp open = -1;
    if (out != NULL) {
        Py_INCREF(out);
    } else {
        out = PyArray_SimpleNew(used, dimensions, NPY_DOUBLE);
    }
    if (out != NULL) {
        open = compute(inputs, p, samples, (double *)PyArray_DATA((PyArrayObject *)out));
#if GUARDED
        if (open < 0) {
            open = refused((const double *)PyArray_DATA((PyArrayObject *)out), samples);
        }
#endif
    }
#if TUNABLE
    Py_DECREF(prepared);
#endif
    if (open >= 0) {
        Py_DECREF(out);
        return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), args, (size_t)count, names);
    }
    return out;
}

// Compute from `vectors` arrays, which are INPUTS or VECTORS, what was prepared, and that of the results.
static PyObject *store(PyObject *const *args, Py_ssize_t count, int vectors)
{
    const double *inputs[VECTORS];
    npy_intp samples = -1;
    if (count != vectors + TUNABLE + 1 || !fit(args, vectors, inputs, &samples)
        || (TUNABLE && !is_prepared(args[vectors]))) {
        return not_prepared();
    }
    const double *p = TUNABLE ? (const double *)PyArray_DATA((PyArrayObject *)args[vectors]) : NULL;
    PyArrayObject *out = (PyArrayObject *)args[vectors + TUNABLE];
    if (!PyArray_CheckExact(args[vectors + TUNABLE]) || PyArray_TYPE(out) != NPY_DOUBLE
        || !PyArray_ISCARRAY(out) || PyArray_SIZE(out) != RESULTS * (samples < 0 ? 1 : samples)) {
        return not_prepared();
    }
    double *results = (double *)PyArray_DATA(out);
    if (vectors == INPUTS) {
        const npy_intp open = compute(inputs, p, samples, results);
        if (open >= 0) {
            return PyLong_FromSsize_t(open);
        }
    } else {
        compute_known(inputs, p, samples, results);
#if UNKNOWNS
        if (samples < 0) {
            remember(inputs);
        }
#endif
    }
    Py_RETURN_NONE;
}

static PyObject *into(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return store(args, count, INPUTS);
}

static PyObject *into_at(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return store(args, count, VECTORS);
}

static PyMethodDef bound = {
    FUNCTION_NAME, (PyCFunction)(void (*)(void))call, METH_FASTCALL | METH_KEYWORDS, FUNCTION_DOC};

static PyObject *bind(PyObject *Py_UNUSED(self), PyObject *args)
{
    if (PyTuple_GET_SIZE(args) != 2) {
        return not_prepared();
    }
    return PyCFunction_New(&bound, args);
}
