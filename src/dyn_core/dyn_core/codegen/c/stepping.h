// SPDX-License-Identifier: Apache-2.0
// Whole steps of a simulation without events; comes after module.h, before functions.h.
//
// The equations are those of dyn_core/simulation/integrators/integration_methods.py and integration_step.py,
// with their reasons there. They hold for steps in which no joint reaches a stop, breaks away, comes to rest
// or passes a limit, and in which the loops close without passing a singularity. For any other step `step`
// returns None and changes nothing.
//
// The program is `held_dynamics`; names that begin with `sum_` belong to `runge_kutta_sum`. For a robot with
// PASSIVE joints in loops, `passive_` begins the names of `passive_state`, which computes their positions and
// velocities; its results from PASSIVE_SIGNS on must keep their signs.

#define JOINTS (SUM_RESULTS / 2)

WHOLE(passive_whole, passive_, PASSIVE_ANGLES)

// What is constant for a robot: an array of these numbers, one after the other.
typedef struct {
    double Fs[JOINTS], lower[JOINTS], upper[JOINTS]; // Coulomb friction, places of the stops
    double passive_lower[PASSIVE], passive_upper[PASSIVE];
    double greatest_speed, shortest, jump; // the speed of what diverges, see `held_dynamics`, see `jumped`
} Bounds;

// What acts on the joints during a step, and which of them are free.
typedef struct {
    const double *tau, *p;
    double friction[JOINTS], free[JOINTS];
} Acting;

// The accelerations and reactions of one stage; 0 where the loops do not close.
static int stage(const Acting *acting, const double *q, const double *qd, const double *old,
                 const double *last, const double *times, double *out)
{
    static const double zeros[JOINTS] = {0.0};
    const double *vectors[INPUTS + 1] = {q,   qd,   acting->tau, acting->friction, acting->free, zeros,
                                         old, last, times};
#if UNKNOWNS
    double given[GIVEN], x[UNKNOWNS];
    given_program_double(vectors, NULL, NULL, NULL, given);
    // Most steps begin where the one before has ended.
    if (has_last && distance(last_given, given) == 0.0) {
        memcpy(x, last_unknowns, sizeof x);
    } else if (!solve_given(given, x)) {
        return 0;
    }
    vectors[INPUTS] = x;
#endif
    compute_one(vectors, acting->p, out);
    return 1;
}

// What the joints do from now on, and what they accelerate with: 1 where one moves, 0 where all are held;
// -1 where one runs into a stop or breaks away, or where the loops do not close.
static int begin(const Bounds *bounds, Acting *acting, const double *q, const double *qd, double *a)
{
    static const double unmoved[SUM_RESULTS] = {0.0};
    const double times[4] = {0.0, 0.0, 0.0, bounds->shortest};
    int moving = 0;
    for (int j = 0; j < JOINTS; ++j) {
        const int at_lower = q[j] <= bounds->lower[j], at_upper = q[j] >= bounds->upper[j];
        if ((at_lower && qd[j] < 0.0) || (at_upper && qd[j] > 0.0)) {
            return -1;
        }
        const int held = qd[j] == 0.0 && (at_lower || at_upper || bounds->Fs[j] > 0.0);
        acting->free[j] = held ? 0.0 : 1.0;
        acting->friction[j] = qd[j] == 0.0 ? 0.0 : -copysign(bounds->Fs[j], qd[j]);
        moving |= !held;
    }
    if (!stage(acting, q, qd, unmoved, unmoved, times, a)) {
        return -1;
    }
    for (int j = 0; j < JOINTS; ++j) {
        const double reaction = a[JOINTS + j];
        if (acting->free[j] == 0.0
            && !((reaction >= -bounds->Fs[j] || q[j] >= bounds->upper[j])
                 && (reaction <= bounds->Fs[j] || q[j] <= bounds->lower[j]))) {
            return -1;
        }
    }
    return moving;
}

// Positions and velocities after a step of the Runge-Kutta method; 0 where something happens in it.
static int runge_kutta(const Bounds *bounds, Acting *acting, const double *q, const double *qd, double h,
                       double *q_after, double *qd_after)
{
    static const double unmoved[SUM_RESULTS] = {0.0};
    double a[4][SUM_RESULTS], after[SUM_RESULTS];
    const double half = 0.5 * h, shortest = bounds->shortest;
    const double times[4][4] = {{0.0},
                                {half, 0.0, 0.0, shortest},
                                {half, half * half, 0.0, shortest},
                                {h, half * h, 0.0, shortest}};
    const int moving = begin(bounds, acting, q, qd, a[0]);
    if (moving < 0) {
        return 0;
    }
    if (moving == 0) {
        memcpy(q_after, q, sizeof(double) * JOINTS);
        memcpy(qd_after, qd, sizeof(double) * JOINTS);
        return 1;
    }
    for (int k = 1; k < 4; ++k) {
        if (!stage(acting, q, qd, k == 1 ? unmoved : a[k - 2], a[k - 1], times[k], a[k])) {
            return 0;
        }
    }
    const double *const vectors[] = {q, qd, a[0], a[1], a[2], a[3], &h};
    sum_program_double(vectors, NULL, NULL, NULL, after);
    memcpy(q_after, after, sizeof(double) * JOINTS);
    memcpy(qd_after, after + JOINTS, sizeof(double) * JOINTS);
    for (int j = 0; j < JOINTS; ++j) {
        if (qd_after[j] * acting->friction[j] > 0.0
            || !(q_after[j] >= bounds->lower[j] && q_after[j] <= bounds->upper[j])) {
            return 0;
        }
    }
    return 1;
}

// The same of the semi-implicit Euler method.
static int semi_implicit_euler(const Bounds *bounds, Acting *acting, const double *q, const double *qd,
                               double h, double *q_after, double *qd_after)
{
    static const double unmoved[SUM_RESULTS] = {0.0};
    const double times[4] = {0.0, 0.0, h, bounds->shortest};
    double a[SUM_RESULTS];
    for (int j = 0; j < JOINTS; ++j) {
        acting->free[j] = qd[j] != 0.0 || bounds->Fs[j] == 0.0 ? 1.0 : 0.0;
        acting->friction[j] = qd[j] == 0.0 ? 0.0 : -copysign(bounds->Fs[j], qd[j]);
    }
    if (!stage(acting, q, qd, unmoved, unmoved, times, a)) {
        return 0;
    }
    for (int j = 0; j < JOINTS; ++j) {
        const double Fs = bounds->Fs[j], reaction = a[JOINTS + j];
        qd_after[j] = qd[j] + h * a[j];
        q_after[j] = q[j] + h * qd_after[j];
        const int holds = qd[j] == 0.0 && reaction >= -Fs && reaction <= Fs;
        if (!(q_after[j] > bounds->lower[j] && q_after[j] < bounds->upper[j])
            || !(Fs == 0.0 || qd[j] * qd_after[j] > 0.0 || holds)) {
            return 0;
        }
    }
    return 1;
}

// Whether no joint is faster than what diverges; not so for NaN, either.
static int bounded(const Bounds *bounds, const double *qd)
{
    for (int j = 0; j < JOINTS; ++j) {
        if (!(fabs(qd[j]) <= bounds->greatest_speed)) {
            return 0;
        }
    }
    return 1;
}

// What there is to know of the passive joints; 0 where the loops do not close, a singularity is between
// here and there, or a passive joint is beyond a limit.
static int followed(const Bounds *bounds, const double *before, const double *q, const double *qd, double h,
                    double *after)
{
    const double *vectors[3] = {q, qd};
#if UNKNOWNS
    double given[GIVEN], x[UNKNOWNS];
    passive_given_program_double(vectors, NULL, NULL, NULL, given);
    if (!solve_given(given, x)) {
        return 0;
    }
    vectors[2] = x;
#endif
    passive_whole(vectors, NULL, after);
    for (int k = PASSIVE_SIGNS; k < PASSIVE_RESULTS; ++k) {
        if (!(before[k] * after[k] > 0.0)) {
            return 0;
        }
    }
    for (int k = 0; k < PASSIVE; ++k) {
        const double u = before[PASSIVE + k], v = after[PASSIVE + k];
        const double jumped = after[k] - before[k] - 0.5 * h * (u + v);
        if (!(fabs(jumped) <= bounds->jump + h * (fabs(u) + fabs(v)))
            || !(after[k] >= bounds->passive_lower[k] && after[k] <= bounds->passive_upper[k])) {
            return 0;
        }
    }
    return 1;
}

// The numbers of an array of float64, as many as there have to be; NULL, with an error, of anything else.
static double *numbers_of(PyObject *object, npy_intp count)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array)
        || PyArray_SIZE(array) != count) {
        not_prepared();
        return NULL;
    }
    return (double *)PyArray_DATA(array);
}

static PyObject *fixed_array(npy_intp count)
{
    PyObject *array = PyArray_SimpleNew(1, &count, NPY_DOUBLE);
    if (array != NULL) {
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    }
    return array;
}

// step(bounds, prepared, implicit, q, qd, tau, h, known): return positions, velocities and the state of the
// passive joints after a step h, as read-only arrays; None if there is an event in the step. `known` is the
// state of the passive joints before the step; with None their signs are not compared. `prepared` is always an
// array, also for a program that does not read it.
static PyObject *step(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count != 8 || !is_prepared(args[1])) {
        return not_prepared();
    }
    const Bounds *bounds = (const Bounds *)numbers_of(args[0], sizeof(Bounds) / sizeof(double));
    const int implicit = PyObject_IsTrue(args[2]);
    const double *q = numbers_of(args[3], JOINTS), *qd = numbers_of(args[4], JOINTS);
    Acting acting = {.tau = numbers_of(args[5], JOINTS),
                     .p = (const double *)PyArray_DATA((PyArrayObject *)args[1])};
    const double h = PyFloat_AsDouble(args[6]);
    const int alone = PASSIVE == 0 || args[7] == Py_None;
    const double *before = alone ? NULL : numbers_of(args[7], PASSIVE_RESULTS);
    if (PyErr_Occurred()) {
        return NULL;
    }
    PyObject *arrays[3] = {fixed_array(JOINTS), fixed_array(JOINTS),
                           fixed_array(alone ? 0 : PASSIVE_RESULTS)};
    PyObject *answer = NULL;
    if (arrays[0] != NULL && arrays[1] != NULL && arrays[2] != NULL) {
        double *after[3];
        for (int k = 0; k < 3; ++k) {
            after[k] = (double *)PyArray_DATA((PyArrayObject *)arrays[k]);
        }
        const int usual = (implicit ? semi_implicit_euler : runge_kutta)(bounds, &acting, q, qd, h, after[0],
                                                                         after[1])
                          && bounded(bounds, after[1])
                          && (alone || followed(bounds, before, after[0], after[1], h, after[2]));
        answer = usual ? PyTuple_Pack(3, arrays[0], arrays[1], arrays[2]) : Py_NewRef(Py_None);
    }
    for (int k = 0; k < 3; ++k) {
        Py_XDECREF(arrays[k]);
    }
    return answer;
}

// present(bounds, prepared, q, qd, tau): which joints are free, Coulomb friction on them, and what
// `held_dynamics` returns; None where a joint reaches a stop or breaks away.
static PyObject *present(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count != 5 || !is_prepared(args[1])) {
        return not_prepared();
    }
    const Bounds *bounds = (const Bounds *)numbers_of(args[0], sizeof(Bounds) / sizeof(double));
    const double *q = numbers_of(args[2], JOINTS), *qd = numbers_of(args[3], JOINTS);
    Acting acting = {.tau = numbers_of(args[4], JOINTS),
                     .p = (const double *)PyArray_DATA((PyArrayObject *)args[1])};
    double a[SUM_RESULTS];
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (begin(bounds, &acting, q, qd, a) < 0) {
        Py_RETURN_NONE;
    }
    PyObject *arrays[3] = {fixed_array(JOINTS), fixed_array(JOINTS), fixed_array(SUM_RESULTS)};
    PyObject *answer = NULL;
    if (arrays[0] != NULL && arrays[1] != NULL && arrays[2] != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)arrays[0]), acting.free, sizeof acting.free);
        memcpy(PyArray_DATA((PyArrayObject *)arrays[1]), acting.friction, sizeof acting.friction);
        memcpy(PyArray_DATA((PyArrayObject *)arrays[2]), a, sizeof a);
        answer = PyTuple_Pack(3, arrays[0], arrays[1], arrays[2]);
    }
    for (int k = 0; k < 3; ++k) {
        Py_XDECREF(arrays[k]);
    }
    return answer;
}
