/** File names that Windows does not allow. */

/** Devices, which exist in every folder and with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i;

/** Whether a name is a device of Windows: `NUL`, `com1.txt`, `con .log`. */
export function isDeviceName(name: string): boolean {
  const [stem = ''] = name.split('.');
  return DEVICE.test(stem.trimEnd());
}

/** Reason why a Windows host cannot have a file at this path (separated by `/`), as "must …"; undefined when it can. */
export function windowsPathFault(path: string): string | undefined {
  for (const part of path.split('/')) {
    if (isDeviceName(part))
      return `must not have ${JSON.stringify(part)} as a part, which is a device on Windows`;
    if (/[. ]$/.test(part))
      return `must not have a part that ends with a dot or a space, as ${JSON.stringify(part)}`;
    const [character] = /[<>:"|?*]/.exec(part) ?? [];
    if (character !== undefined) return `must not contain ${character}, which Windows keeps for itself`;
  }
  return undefined;
}
