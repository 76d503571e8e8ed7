/** Amounts of bytes as texts, in powers of 1024. */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** An amount of bytes, rounded: `17 B`, `1.5 GiB`. */
export function sizeInWords(bytes: number): string {
  const [value, unit] = scaled(bytes);
  return unit === undefined ? `${bytes} B` : `${value.toFixed(1)} ${unit}`;
}

/** An amount of bytes that compares exactly: `17 bytes`, `1.5 GiB`, `2 GiB (2147483649 bytes)`. */
export function exactSizeInWords(bytes: number): string {
  const [value, unit = 'bytes'] = scaled(bytes);
  const rounded = Math.round(value * 100) / 100;
  return rounded === value ? `${value} ${unit}` : `${rounded} ${unit} (${bytes} bytes)`;
}

/** The amount in its largest unit of at most the amount; without a unit below 1 KiB. */
function scaled(bytes: number): [value: number, unit?: string] {
  let value = bytes;
  let unit: string | undefined;
  for (const larger of UNITS) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return unit === undefined ? [value] : [value, unit];
}
