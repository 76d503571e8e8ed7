/** Files and folders that are dropped on the page, or chosen. */

export interface ChosenFile {
  /** Relative path with `/`, beginning with the folder that was dropped. */
  readonly path: string;
  readonly content: Blob;
}

/** All files of a drop, folders with all that is in them. The entries must be taken before the event ends. */
export async function droppedFiles(transfer: DataTransfer): Promise<readonly ChosenFile[]> {
  const found = [...transfer.items].map((item) => {
    const entry = item.webkitGetAsEntry();
    // A drag that ends on another page has no entry.
    const file = entry ? null : item.getAsFile();
    if (entry) return filesOf(entry);
    return file ? [{ path: file.name, content: file }] : [];
  });
  return (await Promise.all(found)).flat();
}

export function chosenFiles(list: FileList): readonly ChosenFile[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, content: file }));
}

async function filesOf(entry: FileSystemEntry): Promise<readonly ChosenFile[]> {
  if (isFile(entry)) {
    const content = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ''), content }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: ChosenFile[] = [];
  for (;;) {
    // A reader gives a hundred at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return files;
    for (const each of some) files.push(...(await filesOf(each)));
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}
