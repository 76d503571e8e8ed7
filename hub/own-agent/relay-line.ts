import { LOG_LEVELS, type Logger } from '@workbench-hub/shared/runtime/logger';

const OWN_FIELDS = new Set(['level', 'time', 'pid', 'name', 'msg']);
const LEVEL_STEP = 10;

/** Logs a line of the agent: a JSON line with its level, message and fields, any other as a warning. */
export function relayLine(line: string, log: Logger): void {
  const entry = parse(line);
  const level = entry && LOG_LEVELS[entry.level / LEVEL_STEP - 1];
  if (!entry || level === undefined || level === 'silent') {
    log.warn({ program: 'agent' }, line);
    return;
  }
  const fields = Object.fromEntries(Object.entries(entry).filter(([key]) => !OWN_FIELDS.has(key)));
  log[level]({ program: 'agent', ...fields }, entry.msg);
}

function parse(line: string): { level: number; msg: string } | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return isEntry(entry) ? entry : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(entry: unknown): entry is { level: number; msg: string } {
  return (
    typeof entry === 'object' &&
    entry !== null &&
    'level' in entry &&
    typeof entry.level === 'number' &&
    'msg' in entry &&
    typeof entry.msg === 'string'
  );
}
