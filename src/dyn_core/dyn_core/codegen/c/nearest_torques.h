// SPDX-License-Identifier: Apache-2.0
// The torques nearest to the desired ones that keep range and speed of all joints: a module with definition.h.
//
// `nearest_torques(values, n, dt)` is `dyn_core.feasibility.step_program` in C, which says what is computed:
// with the same steps, in the same order. Numbers and places are defined before this by what they are there.
//
// The planes that hold the point are kept as an orthonormal basis Q of their normals and a triangle R,
// normals = Q R, by the modified Gram-Schmidt process, done twice for each normal. Where one is dropped, those
// after it are done again, so that the basis never depends on which ones were dropped before.
//
// Nothing is kept from one call to the next.

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <math.h>
#include <numpy/arrayobject.h>
#include <string.h>

// With more, numbers of entries would leave `int`.
#define MOST_JOINTS 10000

typedef struct {
    int n;
    const double *normals; // rows of length 1 of the accelerations, (n, n); those of torques are unit vectors
    const double *b;       // distances of the 4 n planes: least and greatest torques, then accelerations
    int planes;            // how many of these there are: not at -INFINITY
    double *y;
    int count; // planes that hold the point
    int *active;
    int *passed; // of each plane whether those leave it no choice, and it is not looked at
    double *pressure;
    double *Q; // vector k in row k
    double *R; // column k in row k
    double *normal, *z, *c, *r;
} Search;

static double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(double *a, double factor, const double *b, int n)
{
    for (int i = 0; i < n; ++i) {
        a[i] += factor * b[i];
    }
}

static double clipped(double x, double least, double most) { return fmin(fmax(x, least), most); }

// The normal of plane p.
static void set_normal(const Search *s, int p, double *normal)
{
    const int n = s->n, side = p / n, i = p % n;
    const double sign = side % 2 ? -1.0 : 1.0;
    if (side < 2) {
        memset(normal, 0, sizeof(double) * (size_t)n);
        normal[i] = sign;
        return;
    }
    for (int k = 0; k < n; ++k) {
        normal[k] = sign * s->normals[i * n + k];
    }
}

// Make z the part of the normal of plane p across those that hold the point, and c the rest of it in terms
// of Q; return the square of the length of z.
static double split(Search *s, int p)
{
    const int n = s->n;
    set_normal(s, p, s->normal);
    memcpy(s->z, s->normal, sizeof(double) * (size_t)n);
    memset(s->c, 0, sizeof(double) * (size_t)n);
    for (int pass = 0; pass < 2 && s->count > 0; ++pass) {
        for (int k = 0; k < s->count; ++k) {
            const double part = dot(s->Q + k * n, s->z, n);
            add(s->z, -part, s->Q + k * n, n);
            s->c[k] += part;
        }
    }
    return dot(s->z, s->z, n);
}

// Add plane p to the active planes; `split` is the decomposition for the point.
static void take_in(Search *s, int p, double steepness, double pressure)
{
    const int n = s->n, k = s->count;
    const double length = sqrt(steepness);
    for (int i = 0; i < n; ++i) {
        s->Q[k * n + i] = s->z[i] / length;
    }
    memcpy(s->R + k * n, s->c, sizeof(double) * (size_t)k);
    s->R[k * n + k] = length;
    s->active[k] = p;
    s->pressure[k] = pressure;
    s->count = k + 1;
}

static void drop(Search *s, int dropped)
{
    const int count = s->count;
    s->count = dropped;
    for (int k = dropped + 1; k < count; ++k) {
        const int p = s->active[k];
        const double pressure = s->pressure[k], steepness = split(s, p);
        take_in(s, p, steepness, pressure);
    }
}

// Move to the point of least norm on all planes that hold it.
static void settle(Search *s)
{
    const int n = s->n;
    memset(s->y, 0, sizeof(double) * (size_t)n);
    for (int k = 0; k < s->count; ++k) {
        const double *column = s->R + k * n;
        s->r[k] = (s->b[s->active[k]] - dot(column, s->r, k)) / column[k];
        add(s->y, s->r[k], s->Q + k * n, n);
    }
}

// The plane that the point is furthest beyond, or -1.
static int most_violated(const Search *s)
{
    const int n = s->n;
    double worst[4] = {0.0, 0.0, 0.0, 0.0};
    int found[4] = {-1, -1, -1, -1};
    for (int i = 0; i < n; ++i) {
        const double *row = s->normals + i * n;
        double along = 0.0, size = 0.0;
        for (int k = 0; k < n; ++k) {
            const double part = row[k] * s->y[k];
            along += part;
            size += fabs(part);
        }
        const double values[4] = {s->y[i], -s->y[i], along, -along};
        const double sizes[4] = {fabs(s->y[i]), fabs(s->y[i]), size, size};
        for (int side = 0; side < 4; ++side) {
            const double b = s->b[side * n + i];
            const double gap = b - values[side] - ROUNDING * (fabs(b) + sizes[side]);
            if (gap > worst[side]) {
                int held = s->passed[side * n + i];
                for (int k = 0; k < s->count; ++k) {
                    held |= s->active[k] == side * n + i;
                }
                if (!held) {
                    worst[side] = gap;
                    found[side] = side * n + i;
                }
            }
        }
    }
    int best = 0;
    for (int side = 1; side < 4; ++side) {
        if (worst[side] > worst[best]) {
            best = side;
        }
    }
    return found[best];
}

// Move until plane p holds the point, or pass it; 0: it never will.
static int press(Search *s, int p)
{
    const int n = s->n;
    double pressure = 0.0;
    for (;;) {
        const double steepness = split(s, p);
        const int moves = s->count < n && steepness > STEEP;
        const double gap = s->b[p] - dot(s->normal, s->y, n);
        if (!moves && pressure == 0.0 && gap <= BLUR * (fabs(s->b[p]) + sqrt(dot(s->y, s->y, n)))) {
            s->passed[p] = 1;
            return 1;
        }
        const double full = moves ? gap / steepness : INFINITY;
        double part = INFINITY;
        int dropped = -1;
        for (int k = s->count - 1; k >= 0; --k) {
            double value = s->c[k];
            for (int j = k + 1; j < s->count; ++j) {
                value -= s->R[j * n + k] * s->r[j];
            }
            s->r[k] = value / s->R[k * n + k];
        }
        for (int k = 0; k < s->count; ++k) {
            if (s->r[k] > PUSHING && s->pressure[k] / s->r[k] < part) {
                part = s->pressure[k] / s->r[k];
                dropped = k;
            }
        }
        const int arrives = full <= part;
        const double t = arrives ? full : part;
        if (!(t < INFINITY)) {
            return 0;
        }
        add(s->pressure, -t, s->r, s->count);
        pressure += t;
        if (arrives) {
            take_in(s, p, steepness, pressure);
            settle(s);
            memset(s->passed, 0, sizeof(int) * 4 * (size_t)n);
            return 1;
        }
        if (moves) {
            add(s->y, t, s->z, n);
        }
        drop(s, dropped);
    }
}

// Find the nearest point; return 0 if no point exists.
static int search(Search *s)
{
    memset(s->passed, 0, sizeof(int) * 4 * (size_t)s->n);
    settle(s); // in the origin, as none holds it
    for (long step = 0; step <= (long)STEPS * s->planes; ++step) {
        const int p = most_violated(s);
        if (p < 0) {
            return 1;
        }
        if (!press(s, p)) {
            return 0;
        }
    }
    return 0;
}

// Make B the inverse of A, which is destroyed; 0: it has none. Gaussian elimination, rows exchanged.
static int invert(double *A, double *B, int n)
{
    memset(B, 0, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n; ++i) {
        B[i * n + i] = 1.0;
    }
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i) {
            if (fabs(A[i * n + k]) > fabs(A[pivot * n + k])) {
                pivot = i;
            }
        }
        if (!(fabs(A[pivot * n + k]) > 0.0)) {
            return 0;
        }
        for (int j = 0; j < n && pivot != k; ++j) {
            const double a = A[k * n + j], b = B[k * n + j];
            A[k * n + j] = A[pivot * n + j];
            B[k * n + j] = B[pivot * n + j];
            A[pivot * n + j] = a;
            B[pivot * n + j] = b;
        }
        for (int i = k + 1; i < n; ++i) {
            const double factor = A[i * n + k] / A[k * n + k];
            add(A + i * n + k + 1, -factor, A + k * n + k + 1, n - k - 1);
            add(B + i * n, -factor, B + k * n, n);
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) {
            add(B + k * n, -A[k * n + j], B + j * n, n);
        }
        for (int j = 0; j < n; ++j) {
            B[k * n + j] /= A[k * n + k];
        }
    }
    return 1;
}

// Compute the vectors of a step; `work` are 4 n^2 + 13 n numbers and `active` 5 n places. Return 0 if none exists.
static int compute(const double *values, int n, double dt, double *work, int *active, double *const *vectors)
{
    const double *least_u = values + AT_least_torques * n, *most_u = values + AT_greatest_torques * n;
    const double *least_a = values + AT_least_qdd * n, *most_a = values + AT_greatest_qdd * n;
    const double *wished_qdd = values + AT_wished_qdd * n, *H = values + AT_H * n;
    const double *q = values + AT_q * n, *qd = values + AT_qd * n, *A = values + VECTORS * n;
    double *square[4], *vector[13];
    for (int k = 0; k < 4; ++k, work += n * n) {
        square[k] = work;
    }
    for (int k = 0; k < 13; ++k, work += n) {
        vector[k] = work;
    }
    double *to_qdd = square[0], *normals = square[1];
    double *allowed = vector[0], *full = vector[1], *length = vector[2], *b = vector[3]; // b: 4 vectors
    Search s = {.n = n, .normals = normals, .b = b, .active = active, .passed = active + n};
    s.Q = square[2];
    s.R = square[3];
    s.y = vector[7];
    s.pressure = vector[8];
    s.normal = vector[9];
    s.z = vector[10];
    s.c = vector[11];
    s.r = vector[12];
    memcpy(normals, A, sizeof(double) * (size_t)(n * n));
    if (!invert(normals, to_qdd, n)) {
        return 0;
    }
    for (int i = 0; i < n; ++i) {
        allowed[i] = fmax(fmin(wished_qdd[i], most_a[i]), least_a[i]);
        const double width = most_u[i] - least_u[i];
        full[i] = width < FAR && width > 0.0 ? width : 1.0;
    }
    for (int i = 0; i < n; ++i) {
        double *row = to_qdd + i * n;
        for (int k = 0; k < n; ++k) {
            row[k] *= full[k];
        }
        length[i] = sqrt(dot(row, row, n));
        for (int k = 0; k < n; ++k) {
            normals[i * n + k] = row[k] / length[i];
        }
        const double wished = dot(A + i * n, allowed, n) + H[i];
        const double distances[4] = {
            least_u[i] - wished, wished - most_u[i], least_a[i] - allowed[i], allowed[i] - most_a[i]};
        for (int side = 0; side < 4; ++side) {
            const int real = distances[side] > -FAR;
            b[side * n + i] = real ? distances[side] / (side < 2 ? full[i] : length[i]) : -INFINITY;
            s.planes += real;
        }
    }
    if (!search(&s)) {
        return 0;
    }
    double *next_q = vectors[0], *next_qd = vectors[1], *qdd = vectors[2], *torques = vectors[3];
    // What rounding leaves is a part of the torques, which are large where accelerations are.
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        const double found = allowed[i] + dot(to_qdd + i * n, s.y, n);
        sum += 0.0 * found;
        qdd[i] = clipped(found, least_a[i], most_a[i]);
        next_qd[i] = qd[i] + dt * qdd[i];
        next_q[i] = q[i] + 0.5 * dt * (qd[i] + next_qd[i]);
    }
    for (int i = 0; i < n; ++i) {
        torques[i] = dot(A + i * n, qdd, n) + H[i];
        sum += 0.0 * torques[i];
    }
    return sum == 0.0;
}

// Return four arrays, or None.
static PyObject *nearest_torques(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    PyObject *answer = NULL;
    double *vectors[4];
    const long n = count == 3 ? PyLong_AsLong(args[1]) : 0;
    const double dt = count == 3 ? PyFloat_AsDouble(args[2]) : 0.0;
    if (PyErr_Occurred()) {
        return NULL;
    }
    PyArrayObject *values = count == 3 ? (PyArrayObject *)args[0] : NULL;
    if (values == NULL || !PyArray_CheckExact(args[0]) || PyArray_TYPE(values) != NPY_DOUBLE
        || !PyArray_ISCARRAY_RO(values) || PyArray_NDIM(values) != 1 || n < 1 || n > MOST_JOINTS
        || PyArray_SIZE(values) != (VECTORS + n) * n + NUMBERS) {
        PyErr_SetString(PyExc_TypeError, "nearest_torques: arguments that were not prepared");
        return NULL;
    }
    double *work = PyMem_Malloc(sizeof(double) * (size_t)(4 * n * n + 13 * n) + sizeof(int) * 5 * (size_t)n);
    answer = PyTuple_New(4);
    if (work == NULL || answer == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    for (int k = 0; k < 4; ++k) {
        const npy_intp size = n;
        PyObject *array = PyArray_SimpleNew(1, &size, NPY_DOUBLE);
        if (array == NULL) {
            goto fail;
        }
        PyTuple_SET_ITEM(answer, k, array);
        vectors[k] = (double *)PyArray_DATA((PyArrayObject *)array);
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    }
    const double *given = (const double *)PyArray_DATA(values);
    if (!compute(given, (int)n, dt, work, (int *)(work + 4 * n * n + 13 * n), vectors)) {
        Py_DECREF(answer);
        answer = Py_None;
        Py_INCREF(answer);
    }
    PyMem_Free(work);
    return answer;
fail:
    PyMem_Free(work);
    Py_XDECREF(answer);
    return NULL;
}

static PyMethodDef functions[] = {
    {"nearest_torques", (PyCFunction)(void (*)(void))nearest_torques, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
