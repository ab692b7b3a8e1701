export const lineKinds = ['call', 'other'] as const;

/** What a line tells: of one call (the access log), or anything else. */
export type LineKind = (typeof lineKinds)[number];

/** Bytes of lines that wait for the log's reader, above which such lines are dropped. */
export interface RoomBounds {
  readonly call: number;
  readonly other: number;
}

/** Lines that were not written. */
export type DroppedLines = Readonly<Record<LineKind, number>>;

/**
 * Which lines may still wait for the log's reader: one that stops must not cost memory without bound. Once lines of calls
 * are dropped they stay so until half of their bound is free: a reader that is always a little too slow would else be
 * told at every other line.
 */
export interface LogRoom {
  /** Whether a line may be written while `unsent` bytes wait; counts it where not. */
  admit(kind: LineKind, unsent: number): boolean;
  /** What was dropped since the last time, once there is room again; null where there is nothing to tell, or no room. */
  toTell(unsent: number): DroppedLines | null;
}

export function createLogRoom(bounds: RoomBounds): LogRoom {
  const dropped = { call: 0, other: 0 };
  return {
    admit(kind, unsent) {
      if (unsent <= bounds[kind] && (kind === 'other' || dropped.call === 0)) return true;
      dropped[kind] += 1;
      return false;
    },
    toTell(unsent) {
      if (dropped.call + dropped.other === 0 || unsent > bounds.call / 2) return null;
      const told = { ...dropped };
      dropped.call = 0;
      dropped.other = 0;
      return told;
    },
  };
}
