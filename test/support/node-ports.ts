import type { AlarmHandle, Alarms, Clock, Turn } from '../../src/runtime/ports.js';

/** Plain versions of the ports for tests that have sockets; the product's own are tested elsewhere. */
export const clock: Clock = { now: () => performance.now() };

interface NodeAlarm extends AlarmHandle {
  readonly timer: NodeJS.Timeout;
}

export class NodeAlarms implements Alarms {
  private readonly set_ = new Set<AlarmHandle>();

  set(at: number, ring: () => void): AlarmHandle {
    const timer = setTimeout(
      () => {
        this.set_.delete(handle);
        ring();
      },
      Math.max(0, at - clock.now()),
    );
    const handle: NodeAlarm = { at, timer };
    this.set_.add(handle);
    return handle;
  }
  cancel(handle: AlarmHandle): void {
    if (this.set_.delete(handle)) clearTimeout((handle as NodeAlarm).timer);
  }
  get pending(): number {
    return this.set_.size;
  }
}

export const turn: Turn = { atEnd: (task) => void setImmediate(task) };
