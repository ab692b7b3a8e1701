import type { SettingOrigin, SettingOrigins } from './read-settings.js';
import type { Setting } from './setting.js';
import type { SettingText } from './setting-kinds.js';
import { type SettingKey, type Settings, settingKeys, settingTable } from './settings.js';

/** A setting's value as a settings file could give it, null where nothing does, and where it is from. */
export interface ShownSetting {
  readonly value: SettingText | readonly SettingText[] | null;
  readonly source: SettingOrigin;
}

/** All settings in force. A file that is named is shown by its path, never by what it holds. */
export function showSettings(settings: Settings, origins: SettingOrigins): Readonly<Record<SettingKey, ShownSetting>> {
  const shown: Partial<Record<SettingKey, ShownSetting>> = {};
  for (const key of settingKeys) shown[key] = { value: show(settingTable[key], settings[key]), source: origins[key] };
  return shown as Record<SettingKey, ShownSetting>; // every key of the table was set
}

function show({ arity, kind }: Setting, value: unknown): ShownSetting['value'] {
  if (arity === 'optional' && value === null) return null;
  return Array.isArray(value) ? value.map((item) => kind.show(item)) : kind.show(value);
}
