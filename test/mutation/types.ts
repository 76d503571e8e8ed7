/** Whether a changed source text still has types that fit: a change that does not compile never reaches a test. */
import { dirname, join } from 'node:path';
import ts from 'typescript';

export class Types {
  readonly #root: string;
  readonly #services = new Map<string, { service: ts.LanguageService; changed: Map<string, string> }>();
  #version = 0;

  /** Types of the projects below `root`, each in a folder of its own with a `tsconfig.json`. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Whether `file` of the project compiles with this text instead of its own. */
  fit(file: string, text: string): boolean {
    const path = join(this.#root, file);
    const [project = ''] = file.split('/');
    const { service, changed } = this.#serviceOf(project);
    changed.set(path, text);
    this.#version++;
    try {
      return (
        service.getSyntacticDiagnostics(path).length === 0 &&
        service.getSemanticDiagnostics(path).length === 0
      );
    } finally {
      changed.delete(path);
    }
  }

  #serviceOf(project: string) {
    const known = this.#services.get(project);
    if (known) return known;
    const changed = new Map<string, string>();
    const made = { service: ts.createLanguageService(this.#hostOf(project, changed)), changed };
    this.#services.set(project, made);
    return made;
  }

  #hostOf(project: string, changed: ReadonlyMap<string, string>): ts.LanguageServiceHost {
    const config = join(this.#root, project, 'tsconfig.json');
    const { config: json } = ts.readConfigFile(config, ts.sys.readFile) as { config: unknown };
    const { fileNames, options, projectReferences } = ts.parseJsonConfigFileContent(
      json,
      ts.sys,
      dirname(config),
    );
    return {
      getScriptFileNames: () => fileNames,
      getScriptVersion: (path) => (changed.has(path) ? `${this.#version}` : '0'),
      getScriptSnapshot: (path) => {
        const text = changed.get(path) ?? ts.sys.readFile(path);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => this.#root,
      getCompilationSettings: () => options,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      ...(projectReferences ? { getProjectReferences: () => projectReferences } : {}),
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
      readDirectory: ts.sys.readDirectory,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
      ...(ts.sys.realpath ? { realpath: ts.sys.realpath } : {}),
    };
  }
}
