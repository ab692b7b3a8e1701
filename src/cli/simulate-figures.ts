/** `99.98 %`, `100 %`, `0.1 %`; never 100 or 0 for what is only nearly so. @param share from 0 to 1 */
export function percent(share: number): string {
  const shown = share * 100;
  for (let digits = 2; digits < 6; digits += 1) {
    const text = shown.toFixed(digits);
    const rounded = Number(text);
    if ((rounded < 100 || share >= 1) && (rounded > 0 || share <= 0)) return `${rounded} %`;
  }
  return `${shown} %`;
}

/** `+1.02 %`, `-0.5 %`, `0 %`. @param ratio 0.01 for 1 %, more than -1 */
export function signedPercent(ratio: number): string {
  if (ratio > 1) return `+${Number((ratio * 100).toFixed(1))} %`;
  return ratio === 0 ? '0 %' : `${ratio > 0 ? '+' : '-'}${percent(Math.abs(ratio))}`;
}

/** A moment of the run: `850 ms`, `12.3 s`, `95 s`. @param ms 0 or more */
export function when(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${Number((ms / 1000).toFixed(1))} s`;
}

/** `1000 bytes`, `300 KiB`, `1.5 MiB` */
export function inBytes(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const)
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}`;
  return `${bytes} bytes`;
}
