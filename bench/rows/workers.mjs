/** Several processes on one port. */

/** @type {import('../stage/section.mjs').Row} */
export const workers = {
  id: 'workers',
  what: '--workers 2',
  async run() {
    return [
      {
        id: 'workers',
        title: 'Workers',
        notes: ['Not measured: `--workers` above 1 is not built yet.'],
        columns: [],
        rows: [],
        picture: null,
        verdicts: [
          {
            measure: '--workers 2: CPU per call over all workers against one; spread of 8 client connections',
            must: '≤ 1.1; none has more than 5',
            hope: '',
            measured: 'not built yet',
            reached: null,
          },
        ],
      },
    ];
  },
};
