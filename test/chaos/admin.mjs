/** The admin endpoints of the program under chaos. */
export class Admin {
  #base;

  /** @param {string} address */
  constructor(address) {
    this.#base = `http://${address}`;
  }

  /** @returns {Promise<Record<string, unknown>[]>} rows of `/backends` */
  async backends() {
    const answer = await fetch(`${this.#base}/backends`);
    return (await answer.json()).backends;
  }

  /** @param {string} name @param {string} what */
  async post(name, what) {
    const { status } = await fetch(`${this.#base}/backends/${name}/${what}`, { method: 'POST' });
    if (status >= 300) throw new Error(`POST /backends/${name}/${what}: ${status}`);
  }

  /** What of the contract this build has; what it has not is left out of the chaos, and said. @param {string} name */
  async features(name) {
    // Nothing is parked or draining yet, so this changes nothing.
    const { status } = await fetch(`${this.#base}/backends/${name}/unpark`, { method: 'POST' });
    return { drain: status < 300, lost: status < 300 };
  }
}
