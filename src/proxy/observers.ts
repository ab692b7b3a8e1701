import type { CallObserver } from './observer.js';

/** Several observers as one: a record that any of them wants is made once, and each that wants it gets it. */
export function observeAll(observers: readonly CallObserver[]): CallObserver {
  const [only] = observers;
  if (only !== undefined && observers.length === 1) return only;
  return {
    wants(code, attempts, now) {
      for (const observer of observers) if (observer.wants(code, attempts, now)) return true;
      return false;
    },
    onCallEnded(record) {
      const { code, attempts, endedAt } = record;
      for (const observer of observers)
        if (observer.wants(code, attempts.length, endedAt)) observer.onCallEnded(record);
    },
  };
}
