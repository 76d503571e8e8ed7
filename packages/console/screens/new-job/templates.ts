/** Templates of jobs, kept in this browser: all that is small enough. */
import { type Draft, type DraftFile, EMPTY_DRAFT, MAX_SCRIPT_BYTES } from './draft.js';

const KEY = 'workbench-templates';

interface StoredFile extends Pick<DraftFile, 'path' | 'role' | 'program' | 'isNameless' | 'modelType'> {
  readonly text: string;
}

export interface Template {
  readonly title: string;
  readonly draft: Omit<Draft, 'files'>;
  readonly files: readonly StoredFile[];
  /** Paths of files that are too large to be kept. */
  readonly missing: readonly string[];
}

export function readTemplates(): readonly Template[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored)
      ? (stored as Template[]).filter(({ title }) => typeof title === 'string')
      : [];
  } catch {
    return [];
  }
}

/** Keeps a draft under this title, in place of a template of the same title. Rejects when the browser has no room. */
export async function saveTemplate(
  title: string,
  draft: Draft,
  load: (file: DraftFile) => Promise<Blob>,
): Promise<Template> {
  const { files, ...rest } = draft;
  const kept: StoredFile[] = [];
  const missing: string[] = [];
  for (const file of files) {
    const text = file.size <= MAX_SCRIPT_BYTES ? await textOf(await load(file)) : undefined;
    if (text === undefined) missing.push(file.path);
    else {
      const { id: _, size, content, ...described } = file;
      kept.push({ ...described, text });
    }
  }
  const template = { title, draft: rest, files: kept, missing };
  const others = readTemplates().filter((each) => each.title !== title);
  localStorage.setItem(KEY, JSON.stringify([...others, template]));
  return template;
}

export function deleteTemplate(title: string): void {
  localStorage.setItem(KEY, JSON.stringify(readTemplates().filter((each) => each.title !== title)));
}

/** The draft of a template, without the files that are missing in it. */
export function draftOfTemplate({ draft, files }: Template, newId: () => string): Draft {
  return {
    ...EMPTY_DRAFT,
    ...draft,
    files: files.map(({ text, ...described }) => {
      const content = new Blob([text]);
      return { ...described, id: newId(), size: content.size, content };
    }),
  };
}

/** Undefined for what is no text, and so could not be kept as one. */
async function textOf(content: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await content.arrayBuffer());
  } catch {
    return undefined;
  }
}
