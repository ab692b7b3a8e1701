import type { Kind } from './setting-kinds.js';

/** Headings of the help, in its order. */
export const settingGroups = [
  'Listening and backends',
  'Service config',
  'Load balancing',
  'Health of backends',
  'Limits',
  'Connections to backends',
  'Connections of clients',
  'Draining',
  'TLS',
  'Metadata',
  'Pins and sessions',
  'Admin HTTP and control',
  'Logs',
  'Settings file',
] as const;

export type SettingGroup = (typeof settingGroups)[number];

/** One row of the table: everything about a setting but its key, from which its flag and variable are spelled. */
export type Setting<T = unknown> = {
  readonly group: SettingGroup;
  readonly help: string;
} & (
  | { readonly arity: 'one'; readonly kind: Kind<T>; readonly initial: string }
  /** Null where no source gives it; `shown` tells in the help what that means. */
  | { readonly arity: 'optional'; readonly kind: Kind<T>; readonly shown: string | null }
  /** An array in the file, white space between values in the environment. */
  | { readonly arity: 'many'; readonly kind: Kind<T>; readonly initial: readonly string[] }
);

export type One<T> = Extract<Setting<T>, { arity: 'one' }>;
export type Optional<T> = Extract<Setting<T>, { arity: 'optional' }>;
export type Many<T> = Extract<Setting<T>, { arity: 'many' }>;

export function one<T>(group: SettingGroup, kind: Kind<T>, initial: string, help: string): One<T> {
  return { arity: 'one', group, kind, initial, help };
}

export function optional<T>(group: SettingGroup, kind: Kind<T>, shown: string | null, help: string): Optional<T> {
  return { arity: 'optional', group, kind, shown, help };
}

export function many<T>(group: SettingGroup, kind: Kind<T>, initial: readonly string[], help: string): Many<T> {
  return { arity: 'many', group, kind, initial, help };
}
