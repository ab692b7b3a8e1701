import type { Answer } from '../../../src/admin/admin-state.js';
import type { RequestFacts } from '../../../src/admin/admission.js';
import { createEndpoints } from '../../../src/admin/endpoints.js';
import { answerQuestion, type WorkerAnswer, type WorkerQuestion } from '../../../src/admin/questions.js';
import type { SessionStats } from '../../../src/balance/sessions.js';
import { createGroupAdmin, type GroupAdmin, type GroupAdminOptions } from '../../../src/workers/admin-endpoints.js';
import type { Told, WorkerGroup } from '../../../src/workers/admin-group.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';
import { World } from '../admin/backends.js';

/** Workers that answer as real ones do, in values that have been cloned, but for those that are silent. */
export class FakeGroup implements WorkerGroup {
  readonly wanted: number;
  readonly workers = new Map<number, World>();
  readonly silent = new Set<number>();
  /** The questions, in order. */
  readonly asked: WorkerQuestion[] = [];
  /** Runs when all have answered, before anybody is told. */
  beforeTold: () => void = () => {};

  constructor(...worlds: readonly World[]) {
    this.wanted = worlds.length;
    for (const [at, world] of worlds.entries()) this.workers.set(at + 1, world);
  }

  get ready(): readonly number[] {
    return [...this.workers.keys()];
  }

  async ask(question: WorkerQuestion): Promise<readonly Told<WorkerAnswer>[]> {
    this.asked.push(question);
    const told: Told<WorkerAnswer>[] = [];
    for (const [worker, world] of this.answering()) {
      const answer = await answerQuestion(world, worker, structuredClone(question), () => {});
      if (answer !== null) told.push({ worker, answer: structuredClone(answer) });
    }
    const { beforeTold } = this;
    this.beforeTold = () => {};
    beforeTold();
    return told;
  }

  async collect(
    question: WorkerQuestion,
    onPiece: (worker: number, text: string) => void,
    onWhole: (worker: number) => void,
  ): Promise<void> {
    for (const [worker, world] of this.answering())
      if ((await answerQuestion(world, worker, question, (text) => onPiece(worker, text))) !== null) onWhole(worker);
  }

  private answering(): readonly (readonly [number, World])[] {
    return [...this.workers].filter(([worker]) => !this.silent.has(worker));
  }
}

const plain: RequestFacts = {
  method: 'GET',
  host: 'localhost',
  origin: undefined,
  fetchSite: undefined,
  fetchMode: undefined,
  fetchDest: undefined,
  authorization: undefined,
};

export interface Stage {
  readonly group: FakeGroup;
  readonly time: VirtualTime;
  readonly admin: GroupAdmin;
  readonly lines: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[];
  readonly defects: unknown[];
  /** Of all the questions those of one kind. */
  asked(kind: WorkerQuestion['kind']): number;
  get(url: string): Promise<Answer>;
  post(url: string): Promise<Answer>;
  /** A worker dies. */
  kill(worker: number): void;
}

/** An admin listener of a primary, without its sockets; asked from 127.0.0.1:5. */
export function start(group: FakeGroup, rest: Partial<GroupAdminOptions> = {}): Stage {
  const time = createVirtualTime();
  const lines: Stage['lines'] = [];
  const defects: unknown[] = [];
  const own: SessionStats = new World().sessions.stats(0);
  const admin = createGroupAdmin(group, {
    instance: 'run',
    recentCalls: 500,
    program: null,
    readAsset: null,
    draining: () => false,
    sessions: {
      stats: (workers) => ({ ...own, size: 7, calls: workers.reduce((sum, { calls }) => sum + calls, 0) }),
      clear: () => 7,
    },
    metrics: () => [],
    tell: (_level, fields, message) => lines.push({ fields, message }),
    clock: time.clock,
    alarms: time.alarms,
    wallNow: () => 1_700_000_000_000,
    pace: () => Promise.resolve(),
    onDefect: (error) => defects.push(error),
    ...rest,
  });
  const answer = createEndpoints(admin.endpoints, { hosts: new Set(), beyondLoopback: false, isToken: () => false });
  const send = async (method: string, url: string): Promise<Answer> =>
    answer({ ...plain, method }, url, '127.0.0.1:5', undefined);
  return {
    group,
    time,
    admin,
    lines,
    defects,
    asked: (kind) => group.asked.filter((question) => question.kind === kind).length,
    get: (url) => send('GET', url),
    post: (url) => send('POST', url),
    kill(worker) {
      group.workers.delete(worker);
      admin.leave(worker);
    },
  };
}

/** All that is due in this turn has been done: promises of fakes need no more turns than this. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 100; i += 1) await Promise.resolve();
}
