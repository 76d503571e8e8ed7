/** Small changes of a source text, each of which a test should notice. */
import ts from 'typescript';

export interface Mutant {
  /** First character that is replaced, and the one after the last. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly change: string;
}

type Swaps = Readonly<Partial<Record<ts.SyntaxKind, string>>>;

const K = ts.SyntaxKind;

const OPERATORS: Swaps = {
  [K.EqualsEqualsEqualsToken]: '!==',
  [K.ExclamationEqualsEqualsToken]: '===',
  [K.LessThanToken]: '<=',
  [K.LessThanEqualsToken]: '<',
  [K.GreaterThanToken]: '>=',
  [K.GreaterThanEqualsToken]: '>',
  [K.AmpersandAmpersandToken]: '||',
  [K.BarBarToken]: '&&',
  [K.PlusToken]: '-',
  [K.MinusToken]: '+',
  [K.PlusEqualsToken]: '-=',
  [K.MinusEqualsToken]: '+=',
};

/** Calls for people alone: what they print is no behavior that a test must hold. */
const LOG_CALL = /^(?:await )?(?:this\.)?#?(?:\w+\.)*#?log(?:ger)?(?:\(|\.\w+\()/;
const STATEMENT_OF_SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE)\b/;

/** All mutants of a source text in TypeScript, in the order of their places. Types, imports, logging, and the numbers of constants of the
 *  file have none: such a number is a size or a time that was chosen by measuring. */
export function mutantsOf(text: string): readonly Mutant[] {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (start: number, end: number, replacement: string) =>
    mutants.push({ start, end, replacement, change: changeText(text.slice(start, end), replacement) });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (isLogging(node, file) || isChosenNumber(node)) return;
    mutate(node, file, add);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return mutants.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

type Add = (start: number, end: number, replacement: string) => void;

function mutate(node: ts.Node, file: ts.SourceFile, add: Add): void {
  const replace = (part: ts.Node, replacement: string) =>
    add(part.getStart(file), part.getEnd(), replacement);
  if (ts.isBinaryExpression(node)) {
    const swapped = OPERATORS[node.operatorToken.kind];
    if (swapped !== undefined && !joinsTexts(node)) replace(node.operatorToken, swapped);
  } else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) {
    replace(node.expression, `!(${node.expression.getText(file)})`);
  } else if (ts.isConditionalExpression(node)) {
    replace(node.condition, `!(${node.condition.getText(file)})`);
  } else if (node.kind === K.TrueKeyword) replace(node, 'false');
  else if (node.kind === K.FalseKeyword) replace(node, 'true');
  else if (ts.isNumericLiteral(node)) replace(node, `(${node.getText(file)} + 1)`);
  else if (ts.isExpressionStatement(node) && isCall(node.expression)) replace(node, ';');
  else if (isSql(node)) mutateSql(node, file, add);
}

/** `a + 'text'` joins texts: a difference of them would fail anywhere. */
function joinsTexts({ operatorToken, left, right }: ts.BinaryExpression): boolean {
  const isText = (side: ts.Expression): boolean =>
    ts.isStringLiteralLike(side) ||
    ts.isTemplateExpression(side) ||
    (ts.isBinaryExpression(side) && joinsTexts(side));
  return [K.PlusToken, K.PlusEqualsToken].includes(operatorToken.kind) && (isText(left) || isText(right));
}

function isCall(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression))
    return isCall(expression.expression);
  return ts.isCallExpression(expression) && expression.expression.kind !== K.SuperKeyword;
}

function isLogging(node: ts.Node, file: ts.SourceFile): boolean {
  return ts.isExpressionStatement(node) && LOG_CALL.test(node.getText(file));
}

/** The number of `const LIMIT_MS = 60 * 1000` at the top of a file, or a factor of it. */
function isChosenNumber(node: ts.Node): boolean {
  if (!ts.isNumericLiteral(node)) return false;
  let { parent } = node as ts.Node;
  while (
    ts.isBinaryExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isObjectLiteralExpression(parent)
  )
    parent = parent.parent;
  return ts.isVariableDeclaration(parent) && ts.isSourceFile(parent.parent.parent.parent);
}

type SqlText = ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression;

function isSql(node: ts.Node): node is SqlText {
  const isTemplate = ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);
  return isTemplate && STATEMENT_OF_SQL.test(node.getText());
}

/** Conditions of a statement: each AND becomes an OR, and each comparison its neighbor. */
function mutateSql(node: SqlText, file: ts.SourceFile, add: Add): void {
  const parts = ts.isNoSubstitutionTemplateLiteral(node)
    ? [node]
    : [node.head, ...node.templateSpans.map(({ literal }) => literal)];
  for (const part of parts) {
    const start = part.getStart(file);
    const text = part.getText(file);
    for (const { index } of text.matchAll(/(?<=\s)AND(?=\s)/g)) add(start + index, start + index + 3, 'OR');
    for (const { index, 0: found } of text.matchAll(/(?<=\s)(?:<=|>=|<|>)(?=\s)/g)) {
      const swapped = found.length === 2 ? found.slice(0, 1) : `${found}=`;
      add(start + index, start + index + found.length, swapped);
    }
  }
}

function changeText(before: string, after: string): string {
  const short = (text: string) => {
    const line = text.replaceAll(/\s+/g, ' ');
    return line.length > 70 ? `${line.slice(0, 67)}...` : line;
  };
  return after === ';' ? `remove ${short(before)}` : `${short(before)} -> ${short(after)}`;
}
