/** Below and above it the tails have a formula of their own. */
const tail = 0.02425;

/** Draws of 32 bits: nothing lies nearer to 0 or to 1. */
const nearest = 2 ** -33;

/**
 * The inverse of the normal distribution's cumulative function, by P. J. Acklam's rational approximation: at most 1.2e-9 of
 * the value off.
 *
 * @param share in [0, 1]; the ends are taken for the nearest values that have a finite answer
 */
export function normalQuantile(share: number): number {
  const p = Math.min(Math.max(share, nearest), 1 - nearest);
  if (p < tail) return ofTail(Math.sqrt(-2 * Math.log(p)));
  if (p > 1 - tail) return -ofTail(Math.sqrt(-2 * Math.log(1 - p)));
  const q = p - 0.5;
  const r = q * q;
  return (
    (polynomial(
      r,
      -39.69683028665376,
      220.9460984245205,
      -275.9285104469687,
      138.357751867269,
      -30.66479806614716,
      2.506628277459239,
    ) *
      q) /
    polynomial(r, -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1)
  );
}

function ofTail(q: number): number {
  return (
    polynomial(
      q,
      -0.007784894002430293,
      -0.3223964580411365,
      -2.400758277161838,
      -2.549732539343734,
      4.374664141464968,
      2.938163982698783,
    ) / polynomial(q, 0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1)
  );
}

/** Coefficients from the highest power down. */
function polynomial(x: number, ...coefficients: readonly number[]): number {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
}
