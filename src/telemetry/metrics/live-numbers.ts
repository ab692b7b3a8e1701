import { Status } from '../../grpc/status.js';
import { stopReasons } from '../../grpc/stop-reason.js';
import type { LiveCalls, LiveHistogram, LiveMethod, LiveNumbers } from '../../proxy/live-numbers.js';
import type { Histogram } from './histogram.js';
import { codeNames } from './labels.js';
import type { MethodNumbers } from './method-numbers.js';
import type { ProgramNumbers } from './program-numbers.js';

const clientCancelled = stopReasons.indexOf('client_cancelled');

/** What was counted, as the live pages take it. Costs time for each method: not for the hot path. */
export function readLive(counted: ProgramNumbers): LiveNumbers {
  const methods: LiveMethod[] = [];
  const sum = { ended: 0, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 };
  const codes = new Float64Array(codeNames.length);
  const reasons = new Float64Array(stopReasons.length);
  counted.methods.each((method, numbers) => {
    const calls = callsOf(numbers);
    if (calls.ended === 0) return;
    methods.push({ method, ...calls });
    sum.ended += calls.ended;
    sum.ok += calls.ok;
    sum.cancelled += calls.cancelled;
    sum.saved += calls.saved;
    sum.retried += calls.retried;
    sum.hedged += calls.hedged;
    sum.hedges_won += calls.hedges_won;
    numbers.calls.addRowsTo(codes);
    numbers.calls.addColumnsTo(reasons);
  });
  methods.sort((a, b) => b.ended - a.ended);
  return {
    version: counted.facts.version,
    calls: sum,
    codes: byName(codeNames, codes),
    reasons: byName(stopReasons, reasons),
    attempts: [...counted.attemptsPerCall.counts],
    latency: {
      calls: tellHistogram(counted.latency),
      first_ended: tellHistogram(counted.firstEnded),
      first_cut: tellHistogram(counted.firstCut),
    },
    methods,
  };
}

function callsOf({ calls, saved, retried, hedged, hedgesWon }: MethodNumbers): LiveCalls {
  return {
    ended: calls.total(),
    ok: calls.ofRow(Status.OK),
    cancelled: calls.ofColumn(clientCancelled),
    saved,
    retried,
    hedged,
    hedges_won: hedgesWon,
  };
}

function byName<Name extends string>(names: readonly Name[], counts: Float64Array): Partial<Record<Name, number>> {
  const told: Partial<Record<Name, number>> = {};
  names.forEach((name, at) => {
    const count = counts[at] ?? 0;
    if (count > 0) told[name] = count;
  });
  return told;
}

function tellHistogram({ bounds, counts }: Histogram): LiveHistogram {
  return { bounds_ms: [...bounds], counts: [...counts] };
}
