// SPDX-License-Identifier: Apache-2.0
// Vectors of samples and their elementary functions; comes before the code of a program.

#include <math.h>
#include <string.h>

// One lane for each sample of a batch: as many as fill one register of this machine.
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double Lanes __attribute__((vector_size(8 * LANES)));
typedef long long Bits __attribute__((vector_size(8 * LANES)));

// From here on the reduction of an angle by multiples of pi/2 in three parts loses accuracy.
#define LARGE_ANGLE 1e5

static inline Lanes choose(Bits mask, Lanes where, Lanes elsewhere)
{
    return (Lanes)(((Bits)where & mask) | ((Bits)elsewhere & ~mask));
}

// Sines and cosines, to about one unit in the last place: reduction to [-pi/4, pi/4] after Cody and
// Waite, then the minimax polynomials of fdlibm.
static inline void sincos_lanes(Lanes x, Lanes *sine, Lanes *cosine)
{
    const double to_integer = 6755399441055744.0; // 1.5 * 2^52: the last bits hold the integer
    Lanes k = x * 6.36619772367581382433e-01 + to_integer;
    const Bits quadrant = (Bits)k;
    k = k - to_integer;
    Lanes y = x - k * 1.57079632673412561417e+00;
    y = y - k * 6.07710050630396597660e-11;
    y = y - k * 2.02226624879595063154e-21;
    const Lanes z = y * y;
    const Lanes ps =
        -1.66666666666666324348e-01
        + z * (8.33333333332248946124e-03
               + z * (-1.98412698298579493134e-04
                      + z * (2.75573137070700676789e-06
                             + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))));
    const Lanes pc =
        4.16666666666666019037e-02
        + z * (-1.38888888888741095749e-03
               + z * (2.48015872894767294178e-05
                      + z * (-2.75573143513906633035e-07
                             + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11))));
    const Lanes half = 0.5 * z;
    const Lanes near = 1.0 - half;
    const Lanes s = y + y * z * ps;
    const Lanes c = near + (((1.0 - near) - half) + z * z * pc);
    const Bits swap = -(quadrant & 1);
    const Bits zero = quadrant ^ quadrant;
    *sine = (Lanes)((Bits)choose(swap, c, s) ^ ((quadrant & (zero + 2)) << 62));
    *cosine = (Lanes)((Bits)choose(swap, s, c) ^ (((quadrant + 1) & (zero + 2)) << 62));
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(fabs(x[lane]) <= LARGE_ANGLE)) {
            (*sine)[lane] = sin(x[lane]);
            (*cosine)[lane] = cos(x[lane]);
        }
    }
}

static inline double sqrt_double(double x) { return sqrt(x); }
static inline double abs_double(double x) { return fabs(x); }
static inline double sign_double(double x) { return x != x ? x : (double)((x > 0.0) - (x < 0.0)); }

static inline double larger_double(double a, double b, double then, double otherwise)
{
    return a > b ? then : otherwise;
}
static inline Lanes larger_lanes(Lanes a, Lanes b, Lanes then, Lanes otherwise)
{
    return choose(a > b, then, otherwise);
}

#define LANEWISE(function)                                                                             \
    static inline Lanes function##_lanes(Lanes x)                                                      \
    {                                                                                                  \
        for (int lane = 0; lane < LANES; ++lane) {                                                     \
            x[lane] = function##_double(x[lane]);                                                      \
        }                                                                                              \
        return x;                                                                                      \
    }
LANEWISE(sqrt)
LANEWISE(abs)
LANEWISE(sign)

// Make one function of the two parts of a program for one sample, and of the sines and cosines between them.
#define WHOLE(name, part, count)                                                                       \
    static void name(const double *const *vectors, const double *p, double *out)                       \
    {                                                                                                  \
        enum { BLOCKS = (count + LANES - 1) / LANES + (count == 0) };                                  \
        union {                                                                                        \
            Lanes lanes[BLOCKS];                                                                       \
            double values[BLOCKS * LANES];                                                             \
        } angle = {.values = {0.0}}, sine, cosine;                                                     \
        part##angles_double(vectors, p, angle.values);                                                 \
        for (int block = 0; block * LANES < count; ++block) {                                          \
            sincos_lanes(angle.lanes[block], &sine.lanes[block], &cosine.lanes[block]);                \
        }                                                                                              \
        part##program_double(vectors, p, sine.values, cosine.values, out);                             \
    }
