/** Counters in a row or a table, for label values of closed sets: added to by index, read by value. */
export class Counts {
  private readonly rows: readonly string[];
  private readonly columns: readonly string[];
  private readonly values: Float64Array;

  constructor(rows: readonly string[], columns: readonly string[] = ['']) {
    this.rows = rows;
    this.columns = columns;
    this.values = new Float64Array(rows.length * columns.length);
  }

  /** @param row an index of the rows, in range; @param column of the columns */
  add(row: number, column = 0, by = 1): void {
    const at = row * this.columns.length + column;
    this.values[at] = (this.values[at] as number) + by;
  }

  /** By values; one that is not in the set is not counted. */
  addFor(row: string, column = '', by = 1): void {
    const rowAt = this.rows.indexOf(row);
    const columnAt = this.columns.indexOf(column);
    if (rowAt >= 0 && columnAt >= 0) this.add(rowAt, columnAt, by);
  }

  /** All of one row. @param row an index of the rows, in range */
  ofRow(row: number): number {
    const { length } = this.columns;
    let sum = 0;
    for (let at = row * length; at < (row + 1) * length; at += 1) sum += this.values[at] ?? 0;
    return sum;
  }

  /** All of one column. @param column an index of the columns, in range */
  ofColumn(column: number): number {
    const { length } = this.columns;
    let sum = 0;
    for (let at = column; at < this.values.length; at += length) sum += this.values[at] ?? 0;
    return sum;
  }

  /** Adds each row's sum. @param sums as long as there are rows */
  addRowsTo(sums: Float64Array): void {
    const { length } = this.columns;
    this.values.forEach((value, at) => {
      const row = Math.floor(at / length);
      sums[row] = (sums[row] ?? 0) + value;
    });
  }

  /** Adds each column's sum. @param sums as long as there are columns */
  addColumnsTo(sums: Float64Array): void {
    const { length } = this.columns;
    this.values.forEach((value, at) => {
      sums[at % length] = (sums[at % length] ?? 0) + value;
    });
  }

  total(): number {
    let sum = 0;
    for (const value of this.values) sum += value;
    return sum;
  }

  /** @param zeros those too that have counted nothing: so that the first increase shows as one */
  each(zeros: boolean, take: (row: string, column: string, value: number) => void): void {
    const { rows, columns, values } = this;
    rows.forEach((row, at) => {
      columns.forEach((column, next) => {
        const value = values[at * columns.length + next] ?? 0;
        if (zeros || value > 0) take(row, column, value);
      });
    });
  }
}
