import { readUint16, readUint32 } from './frame/bytes.js';
import { defaultWindow, maxMaxFrameSize, maxUint31, minMaxFrameSize } from './frame/kinds.js';
import type { Setting } from './frame/writer.js';
import { ErrorCode, type Http2Settings, type Role } from './types.js';

/** RFC 9113 6.5.2. */
const SettingId = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

/** RFC 7541 4.2 and RFC 9113 6.5.2: the dynamic table's size before any SETTINGS. */
export const defaultHeaderTableSize = 4096;

/** What we advertise. A server's setting of push or a client's stream limit would say nothing and is left out. */
export function ownSettings(role: Role, settings: Http2Settings): Setting[] {
  const list: Setting[] = [
    [SettingId.HEADER_TABLE_SIZE, settings.headerTableSize],
    [SettingId.INITIAL_WINDOW_SIZE, settings.streamWindow],
    [SettingId.MAX_FRAME_SIZE, settings.maxFrameSize],
    [SettingId.MAX_HEADER_LIST_SIZE, settings.maxHeaderListSize],
  ];
  if (role === 'client') list.push([SettingId.ENABLE_PUSH, 0]);
  else list.push([SettingId.MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams]);
  return list;
}

/** A connection error. */
export interface Fault {
  readonly code: number;
  readonly detail: string;
}

/** Hears of the settings that change more than a number. */
export interface SettingsTarget {
  onHeaderTableSize(bytes: number): void;
  /**
   * Each open stream's send window changes by `by` (RFC 9113 6.9.2), by way of `most`, the highest of several values in one
   * frame. False: one of them would be over 2^31-1.
   */
  onInitialWindowChange(by: number, most: number): boolean;
}

/** Whether a SETTINGS payload sets INITIAL_WINDOW_SIZE, which is work for each open stream. */
export function setsWindow(chunk: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at + 6 <= end; at += 6) if (readUint16(chunk, at) === SettingId.INITIAL_WINDOW_SIZE) return true;
  return false;
}

/** The peer's settings in force; before its first SETTINGS those of RFC 9113 6.5.2. */
export class PeerSettings {
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindow = defaultWindow;
  maxFrameSize = minMaxFrameSize;
  maxHeaderListSize = Number.POSITIVE_INFINITY;

  /** Applies the settings in order (RFC 9113 6.5.3). The payload's length is a multiple of 6. Null: all went well. */
  apply(role: Role, chunk: Uint8Array, start: number, end: number, target: SettingsTarget): Fault | null {
    const before = this.initialWindow;
    let most = before;
    for (let at = start; at < end; at += 6) {
      const fault = this.applyOne(role, readUint16(chunk, at), readUint32(chunk, at + 2), target);
      if (fault !== null) return fault;
      if (this.initialWindow > most) most = this.initialWindow;
    }
    const { initialWindow } = this;
    // However often one frame changes it, the streams are gone through once.
    if (initialWindow === before && most === before) return null;
    if (target.onInitialWindowChange(initialWindow - before, most - before)) return null;
    return {
      code: ErrorCode.FLOW_CONTROL_ERROR,
      detail: `SETTINGS_INITIAL_WINDOW_SIZE ${most} takes a stream's window over 2^31-1`,
    };
  }

  private applyOne(role: Role, id: number, value: number, target: SettingsTarget): Fault | null {
    switch (id) {
      case SettingId.HEADER_TABLE_SIZE:
        target.onHeaderTableSize(value);
        return null;
      case SettingId.ENABLE_PUSH:
        // A server must not ask for pushes from a client (RFC 9113 6.5.2).
        if (value > (role === 'client' ? 0 : 1))
          return { code: ErrorCode.PROTOCOL_ERROR, detail: `SETTINGS_ENABLE_PUSH is ${value}` };
        return null;
      case SettingId.MAX_CONCURRENT_STREAMS:
        this.maxConcurrentStreams = value;
        return null;
      case SettingId.INITIAL_WINDOW_SIZE: {
        if (value > maxUint31)
          return { code: ErrorCode.FLOW_CONTROL_ERROR, detail: `SETTINGS_INITIAL_WINDOW_SIZE is ${value}` };
        this.initialWindow = value;
        return null;
      }
      case SettingId.MAX_FRAME_SIZE:
        if (value < minMaxFrameSize || value > maxMaxFrameSize)
          return { code: ErrorCode.PROTOCOL_ERROR, detail: `SETTINGS_MAX_FRAME_SIZE is ${value}` };
        this.maxFrameSize = value;
        return null;
      case SettingId.MAX_HEADER_LIST_SIZE:
        this.maxHeaderListSize = value;
        return null;
      default:
        // RFC 9113 6.5.2: unknown settings are ignored.
        return null;
    }
  }
}
