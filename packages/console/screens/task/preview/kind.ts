/** Kind of preview, by the ending of the file's name. Nothing is ever run, so a page is text. */
export type PreviewKind = 'table' | 'json' | 'image' | 'vector' | 'solid' | 'text';

const KINDS: Readonly<Record<string, PreviewKind>> = {
  csv: 'table',
  tsv: 'table',
  json: 'json',
  svg: 'vector',
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  stl: 'solid',
  ply: 'solid',
  gltf: 'solid',
  glb: 'solid',
};

/** Largest files that are fetched whole for a preview, in bytes. */
export const MAX_BYTES: Readonly<Record<'json' | 'image' | 'vector' | 'solid', number>> = {
  json: 2 * 1024 * 1024,
  image: 32 * 1024 * 1024,
  vector: 4 * 1024 * 1024,
  solid: 64 * 1024 * 1024,
};

/** Ending of the name in lower case, without its dot. */
export function endingOf(path: string): string {
  return /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
}

export function previewKindOf(path: string): PreviewKind {
  const ending = endingOf(path);
  return Object.hasOwn(KINDS, ending) ? (KINDS[ending] ?? 'text') : 'text';
}
