/** What h2load prints. Pure. */

const units = /** @type {Readonly<Record<string, number>>} */ ({ us: 1e-6, ms: 1e-3, s: 1, m: 60 });

/** Seconds. @param {string | undefined} text such as `1.25ms` */
function seconds(text) {
  const [, number, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text ?? '') ?? [];
  return Number(number ?? Number.NaN) * (units[unit ?? ''] ?? Number.NaN);
}

/**
 * The summary that h2load ends with. Throws one sentence where it is not one.
 * @param {string} text @returns {import('./h2load-output.mjs').Summary}
 */
export function parseSummary(text) {
  const finished = /^finished in ([\d.]+(?:us|ms|s|m)), ([\d.]+) req\/s/m.exec(text);
  const requests =
    /^requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored/m.exec(text);
  if (finished === null || requests === null) throw new Error('h2load printed no summary');
  const times = /^time for request:\s+(\S+)\s+(\S+)\s+(\S+)/m.exec(text);
  return {
    seconds: seconds(finished[1]),
    rate: Number(finished[2]),
    calls: Number(requests[3]),
    failed: Number(requests[4]) + Number(requests[5]),
    mean: seconds(times?.[3]) * 1e6,
  };
}

/**
 * The calls of `--log-file`, µs each, in order of their ends.
 * @param {string} text @param {number} skip calls that began within so many µs of the first are left out
 * @returns {{ latencies: number[], failed: number }}
 */
export function parseLog(text, skip = 0) {
  const calls = text.split('\n').flatMap((line) => {
    const [began, status, took] = line.split('\t');
    return took === undefined ? [] : [{ began: Number(began), ok: status === '200', took: Number(took) }];
  });
  const from = calls.reduce((least, { began }) => Math.min(least, began), Number.POSITIVE_INFINITY) + skip;
  const counted = calls.filter(({ began }) => began >= from);
  return {
    latencies: counted.filter(({ ok }) => ok).map(({ took }) => took),
    failed: counted.filter(({ ok }) => !ok).length,
  };
}
