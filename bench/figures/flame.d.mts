/** What `node --cpu-prof` writes, as far as it is used. Times in µs. */
export interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  timeDeltas: number[];
}

export interface Frame {
  name: string;
  /** µs in it itself, and with what it called. */
  self: number;
  total: number;
  children: Map<string, Frame>;
}

export function withoutStart(profile: CpuProfile, skip: number): CpuProfile;
export function frameTree(profile: CpuProfile): Frame;
export function hottest(root: Frame): { name: string; share: number }[];
export function flameGraph(root: Frame, title: string): string;
