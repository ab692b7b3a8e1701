import type { WorkerAnswer, WorkerQuestion } from '../admin/questions.js';

/** What one worker has said. */
export interface Told<T> {
  readonly worker: number;
  readonly answer: T;
}

/** The workers, as the admin listener of the primary sees them. */
export interface WorkerGroup {
  /** How many there are to be. */
  readonly wanted: number;
  /** The numbers of those that are ready. None is used twice. */
  readonly ready: readonly number[];
  /** What all say that answer in time, in the order of their numbers. Never rejects. */
  ask(question: WorkerQuestion): Promise<readonly Told<WorkerAnswer>[]>;
  /**
   * Asks all that are ready now for a long text. Resolves when each has told it whole, or is waited for no more. Never rejects.
   *
   * @param onPiece in the order in which a worker told its pieces
   * @param onWhole in the turn in which a worker's answer after the last piece comes; not for one that had no text or died
   */
  collect(
    question: WorkerQuestion,
    onPiece: (worker: number, text: string) => void,
    onWhole: (worker: number) => void,
  ): Promise<void>;
}

type AnswerOf<K extends WorkerAnswer['kind']> = Extract<WorkerAnswer, { readonly kind: K }>;

/** Asks all workers; what is no answer to that question is left out. */
export async function askAll<K extends WorkerAnswer['kind']>(
  group: Pick<WorkerGroup, 'ask'>,
  question: Extract<WorkerQuestion, { readonly kind: K }>,
): Promise<readonly Told<AnswerOf<K>>[]> {
  const told = await group.ask(question);
  return told.flatMap(({ worker, answer }) => (isOf(answer, question.kind) ? [{ worker, answer }] : []));
}

function isOf<K extends WorkerAnswer['kind']>(answer: WorkerAnswer, kind: K): answer is AnswerOf<K> {
  return answer.kind === kind;
}
