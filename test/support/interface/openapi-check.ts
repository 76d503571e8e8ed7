/** Checks the responses of a hub against its own openapi.json. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { type OpenApiDocument, templateOf } from './openapi-document.js';

export interface AnswerToCheck {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

export type OpenApiCheck = (answer: AnswerToCheck) => void;

export interface CheckedDocument {
  readonly document: OpenApiDocument;
  readonly check: OpenApiCheck;
}

const checkedDocuments = new Map<string, CheckedDocument>();

/** A document with its check. Hubs with equal documents share one, because validators take long to compile. */
export function checkedDocument(text: string): CheckedDocument {
  const known = checkedDocuments.get(text);
  if (known) return known;
  const document = JSON.parse(text) as OpenApiDocument;
  const checked = { document, check: openApiCheck(document) };
  checkedDocuments.set(text, checked);
  return checked;
}

/** A check that throws when a response differs from the document: unknown status, another content type, a body that the
 *  schema does not allow, or an unknown field. Paths that the document does not name pass. */
export function openApiCheck(document: OpenApiDocument): OpenApiCheck {
  const ajv = validatorsOf(document);
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (...pointer: string[]): ValidateFunction => {
    const $ref = `openapi#/${pointer.map(escapePointer).join('/')}`;
    const known = validators.get($ref);
    if (known) return known;
    const validator = ajv.compile({ $ref });
    validators.set($ref, validator);
    return validator;
  };

  return (answer) => {
    const { method, path, status, text } = answer;
    const template = templateOf(document, path);
    const operation = template && document.paths[template]?.[method.toLowerCase()];
    if (!template || !operation) return;
    const where = `${method} ${path} answered ${status}`;
    const response = operation.responses[status];
    if (!response) throw new Error(`${where}, of which the document knows nothing`);
    const [mediaType] = Object.keys(response.content ?? {});
    expectContentType(answer, mediaType, where);
    if (mediaType !== 'application/json') return;
    const pointer = ['paths', template, method.toLowerCase(), 'responses', String(status)];
    const validate = validatorOf(...pointer, 'content', mediaType, 'schema');
    if (validate(JSON.parse(text))) return;
    throw new Error(`${where} with ${text}, but ${ajv.errorsText(validate.errors, { dataVar: 'the body' })}`);
  };
}

/** Throws for another content type than the documented one, or a body where the document has none. */
function expectContentType(
  { contentType, text }: AnswerToCheck,
  documented: string | undefined,
  where: string,
): void {
  if (documented === undefined) {
    if (text !== '') throw new Error(`${where} with a body, of which the document knows nothing`);
    return;
  }
  if (contentType?.split(';')[0] !== documented)
    throw new Error(`${where} as ${contentType}, not ${documented}`);
}

/** Errors of a JSON value against the schema at a pointer to a request body or response; empty when it is valid. */
export function jsonSchemaCheck(
  document: OpenApiDocument,
  pointer: readonly string[],
): (value: unknown) => readonly string[] {
  const ajv = validatorsOf(document);
  const path = [...pointer, 'content', 'application/json', 'schema'].map(escapePointer).join('/');
  const validate = ajv.compile({ $ref: `openapi#/${path}` });
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map(
          ({ keyword, instancePath, message }) => `${instancePath} ${message} (${keyword})`,
        );
}

function validatorsOf(document: OpenApiDocument): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajvFormats.default(ajv);
  // The pattern of ajv-formats may exceed the stack on megabytes.
  ajv.addFormat('byte', isBase64);
  ajv.addSchema(document, 'openapi');
  return ajv;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ''));
}

function escapePointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
