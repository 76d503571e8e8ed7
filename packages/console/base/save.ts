/** Saves what the hub sends as a file of the browser. */

const LIFETIME_MS = 60_000;

/** Offers the content under the last part of its path, whatever else the path contains. */
export async function saveResponse(response: Response, path: string): Promise<void> {
  const blob = await response.blob();
  saveBlob(new Blob([blob], { type: 'application/octet-stream' }), path);
}

function saveBlob(blob: Blob, path: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileNameOf(path);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), LIFETIME_MS);
}

/** Last part of a path; never one that means a folder. */
export function fileNameOf(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? '';
  return /^\.*$/.test(name) ? 'file' : name;
}
