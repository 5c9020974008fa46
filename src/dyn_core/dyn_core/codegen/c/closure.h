// SPDX-License-Identifier: Apache-2.0
// The unknowns of a program, kept on one branch of their solutions; comes after its code, before module.h.
// The method is that of dyn_core/algorithms/loops/continuation.py, with its reasons there, and one shortcut:
// if the last solution of this thread is near, the branch is followed from there.

#define ADVANCE 0.2
#define FIRST_STEP 0.3
#define CONTRACTION 0.25
#define TANGENT 1e-4
#define CONVERGED 1e-9
#define CLOSED 1e-6
#define ITERATIONS 12
#define SMALLEST_ADVANCE (1.0 / 16777216.0)
#define ATTEMPTS 400
#define FAR 40.0
#define MOST_ATTEMPTS 20000

static const double start_given[GIVEN] = START_GIVEN;
static const double start_unknowns[UNKNOWNS] = START;
static const double given_scales[GIVEN] = GIVEN_SCALES;
static const double scales[UNKNOWNS] = SCALES;
static const double given_turns[GIVEN] = GIVEN_TURNS;
static const double turns[UNKNOWNS] = TURNS;

static _Thread_local double last_given[GIVEN];
static _Thread_local double last_unknowns[UNKNOWNS];
static _Thread_local int has_last = 0;

WHOLE(step_whole, step_, STEP_ANGLES)

static void newton_step(const double *given, const double *x, double *results)
{
    const double *const vectors[2] = {given, x};
    step_whole(vectors, NULL, results);
}

static double largest(const double *changes)
{
    double size = 0.0;
    for (int i = 0; i < UNKNOWNS; ++i) {
        const double part = fabs(changes[i]) / scales[i];
        size = part <= size ? size : part; // NaN stays
    }
    return size;
}

// Move x to the solution near it; 0 where it is not certain to be the one that belongs to it.
static int newton(const double *given, double *x, double before)
{
    for (int k = 0; k < ITERATIONS; ++k) {
        double results[STEP_RESULTS];
        newton_step(given, x, results);
        const double size = largest(results);
        if (!(size <= CONTRACTION * before || size <= CONVERGED)) {
            return 0;
        }
        for (int i = 0; i < UNKNOWNS; ++i) {
            x[i] += results[i];
        }
        if (size <= CONVERGED) {
            for (int i = UNKNOWNS; i < STEP_RESULTS; ++i) {
                if (!(fabs(results[i]) <= CLOSED)) {
                    return 0;
                }
            }
            return 1;
        }
        before = size;
    }
    return 0;
}

// How far what is given is from where it was, in units of its scales.
static double distance(const double *origin, const double *given)
{
    double length = 0.0;
    for (int i = 0; i < GIVEN; ++i) {
        const double part = fabs(given[i] - origin[i]) / given_scales[i];
        length = part <= length ? length : part; // NaN stays
    }
    return length;
}

static void between(const double *origin, const double *given, double part, double *here)
{
    for (int i = 0; i < GIVEN; ++i) {
        here[i] = part < 1.0 ? origin[i] + part * (given[i] - origin[i]) : given[i];
    }
}

// Follow the branch of a known solution on a straight line to what is given; 0 where it ends before.
static int follow(const double *origin, const double *known, const double *given, double *x, int attempts)
{
    double slope[STEP_RESULTS], here[GIVEN], found[UNKNOWNS];
    const double length = distance(origin, given);
    if (!(length < HUGE_VAL)) {
        return 0;
    }
    const double longest = length > ADVANCE ? ADVANCE / length : 1.0;
    double done = 0.0, advance = longest, steepness = -1.0;
    memcpy(x, known, sizeof found);
    for (int k = 0; k < attempts; ++k) {
        if (steepness < 0.0) { // of the unknowns, along the line
            between(origin, given, done + TANGENT * longest, here);
            newton_step(here, x, slope);
            for (int i = 0; i < UNKNOWNS; ++i) {
                slope[i] /= TANGENT * longest;
            }
            steepness = largest(slope);
        }
        while (advance * steepness > FIRST_STEP && advance >= SMALLEST_ADVANCE) {
            advance *= 0.5;
        }
        if (!(advance >= SMALLEST_ADVANCE)) {
            return 0;
        }
        const double target = done + advance < 1.0 ? done + advance : 1.0;
        between(origin, given, target, here);
        for (int i = 0; i < UNKNOWNS; ++i) {
            found[i] = x[i] + (target - done) * slope[i];
        }
        if (!newton(here, found, (target - done) * steepness)) {
            advance *= 0.5;
            continue;
        }
        memcpy(x, found, sizeof found);
        if (target == 1.0) {
            return 1;
        }
        done = target;
        advance = 2.0 * advance < longest ? 2.0 * advance : longest;
        steepness = -1.0;
    }
    return 0;
}

// Add to x what so many turns of a number that is given, of the start, add to it; 0 where a turn cannot be made.
static int wind(int number, double count, double *x)
{
    double once[GIVEN], after[UNKNOWNS];
    memcpy(once, start_given, sizeof once);
    once[number] += given_turns[number];
    if (!follow(start_given, start_unknowns, once, after, ATTEMPTS)) {
        return 0;
    }
    for (int i = 0; i < UNKNOWNS; ++i) {
        const double change = after[i] - start_unknowns[i];
        const double whole = turns[i] > 0.0 ? turns[i] * rint(change / turns[i]) : 0.0;
        if (!(fabs(change - whole) <= CLOSED * scales[i])) {
            return 0;
        }
        x[i] += count * whole;
    }
    return 1;
}

// The start with the whole turns that bring it nearest to what is given; 0 where there are none.
static int after_turns(const double *given, double *origin, double *x)
{
    int turned = 0;
    memcpy(origin, start_given, sizeof start_given);
    memcpy(x, start_unknowns, sizeof start_unknowns);
    for (int i = 0; i < GIVEN; ++i) {
        const double count = given_turns[i] > 0.0 ? rint((given[i] - start_given[i]) / given_turns[i]) : 0.0;
        if (count != 0.0) {
            if (given_scales[i] < HUGE_VAL && !wind(i, count, x)) {
                return 0;
            }
            origin[i] += count * given_turns[i];
            turned = 1;
        }
    }
    return turned;
}

// Follow the branch of the start to what is given, however far; 0 where it is not reached.
static int follow_far(const double *given, double *x)
{
    double origin[GIVEN], known[UNKNOWNS];
    const double length = distance(start_given, given);
    if (length > FAR && after_turns(given, origin, known) && follow(origin, known, given, x, ATTEMPTS)) {
        return 1;
    }
    const double attempts = fmin(fmax(2.0 * length / ADVANCE, ATTEMPTS), MOST_ATTEMPTS);
    return follow(start_given, start_unknowns, given, x, (int)attempts);
}

// The unknowns that belong to what is given; 0 where no branch leads there.
static int solve_given(const double *given, double *x)
{
    const int near = has_last && distance(last_given, given) <= ADVANCE;
    const int found = (near && follow(last_given, last_unknowns, given, x, 1))
                      || follow_far(given, x)
                      || (has_last && follow(last_given, last_unknowns, given, x, ATTEMPTS));
    if (found) {
        memcpy(last_given, given, sizeof last_given);
        memcpy(last_unknowns, x, sizeof last_unknowns);
        has_last = 1;
    }
    return found;
}

// The unknowns that the inputs determine; 0 where no branch leads there.
static int solve(const double *const *inputs, double *x)
{
    double given[GIVEN];
    given_program_double(inputs, NULL, NULL, NULL, given);
    return solve_given(given, x);
}

// Begin the next search at unknowns that were found elsewhere, which are the vector after the inputs.
static void remember(const double *const *vectors)
{
    given_program_double(vectors, NULL, NULL, NULL, last_given);
    memcpy(last_unknowns, vectors[INPUTS], sizeof last_unknowns);
    has_last = 1;
}
