import { built } from './build.js';

/** Before any test: the program is built once, in nobody's time. */
export default async function buildFirst(): Promise<void> {
  await built();
}
