// Counts that change along the slider.

/** A count at every position of the slider, from the list [steps to the next change, change, ...]. */
class Series {
  constructor(start, changes) {
    this.start = start;
    this.changes = changes;
    this.where = null;
  }

  /** Return the count at a position. */
  at(position) {
    if (this.where === null) this.sum();
    let low = 0;
    let high = this.where.length; // the number of changes at or before the position is between them
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.where[middle] <= position) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? this.start : this.value[low - 1];
  }

  sum() {
    const number = this.changes.length / 2;
    this.where = new Int32Array(number);
    this.value = new Int32Array(number);
    let where = 0;
    let value = this.start;
    for (let i = 0; i < number; i += 1) {
      where += this.changes[2 * i];
      value += this.changes[2 * i + 1];
      this.where[i] = where;
      this.value[i] = value;
    }
  }
}
