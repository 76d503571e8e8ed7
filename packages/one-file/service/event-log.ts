/** The log "Application" of the events of Windows (advapi32.dll). */
import {
  type ForeignFunctions,
  type Handle,
  Structure,
  WindowsError,
  wideText,
} from '@workbench-hub/agent/process/windows/foreign-functions';

/** Kinds of events, with their numbers. */
const KINDS = { ERROR: 1, WARNING: 2, INFORMATION: 4 } as const;

/** Events of services; administrators filter by these numbers. */
export const EVENTS = {
  STARTED: { id: 100, kind: KINDS.INFORMATION },
  STOPPED: { id: 101, kind: KINDS.INFORMATION },
  FAILED: { id: 102, kind: KINDS.ERROR },
  VERSION: { id: 103, kind: KINDS.WARNING },
} as const;

export interface EventLog {
  /** Never throws: an event that cannot be written is lost. */
  report(event: (typeof EVENTS)[keyof typeof EVENTS], text: string): void;
  /** Registers or removes `source` as a source of texts; throws {@link WindowsError}. */
  register(): void;
  unregister(): void;
}

/** A file of every Windows whose messages with the numbers 1 to 1000 are the text alone. */
const MESSAGES = String.raw`%SystemRoot%\System32\EventCreate.exe`;
const PARENT = String.raw`SYSTEM\CurrentControlSet\Services\EventLog\Application`;
const LOCAL_MACHINE = -2_147_483_646;
const WRITE = 0x20006;
const TYPES = { EXPANDED: 2, NUMBER: 4 };
const ALL_KINDS = 7;
const NOT_THERE = 2;
/** Events have room for 31,839 characters. */
const MOST_CHARACTERS = 30_000;

export function eventLog(koffi: ForeignFunctions, source: string): EventLog {
  const library = koffi.load('advapi32.dll');
  const RegisterSource = library.func('void *__stdcall RegisterEventSourceW(void *server, str16 source)');
  const DeregisterSource = library.func('bool __stdcall DeregisterEventSource(void *log)');
  const ReportEvent = library.func(
    'bool __stdcall ReportEventW(void *log, uint16_t kind, uint16_t category, uint32_t id, void *user, uint16_t texts, ' +
      'uint32_t bytes, void *strings, void *data)',
  );
  const CreateKey = library.func(
    'int32_t __stdcall RegCreateKeyExW(intptr_t parent, str16 name, uint32_t reserved, void *kind, uint32_t options, ' +
      'uint32_t access, void *security, void *key, void *disposition)',
  );
  const SetValue = library.func(
    'int32_t __stdcall RegSetValueExW(intptr_t key, str16 name, uint32_t reserved, uint32_t type, void *data, uint32_t bytes)',
  );
  const CloseKey = library.func('int32_t __stdcall RegCloseKey(intptr_t key)');
  const DeleteKey = library.func('int32_t __stdcall RegDeleteKeyW(intptr_t parent, str16 name)');
  const checked = (call: string, number: number) => {
    if (number !== 0) throw new WindowsError(call, number);
  };
  return {
    report({ id, kind }, text) {
      const log: Handle | null = RegisterSource(null, source);
      if (log === null) return;
      const texts = new Structure(koffi, 8).pointer(0, wideText(text.slice(-MOST_CHARACTERS)));
      ReportEvent(log, kind, 0, id, null, 1, 0, texts.bytes, null);
      DeregisterSource(log);
    },
    register() {
      const opened = Buffer.alloc(8);
      const name = `${PARENT}\\${source}`;
      checked(
        'RegCreateKeyEx',
        CreateKey(LOCAL_MACHINE, name, 0, null, 0, WRITE, null, opened, Buffer.alloc(4)),
      );
      const key = opened.readBigInt64LE(0);
      try {
        const set = (value: string, type: number, data: Buffer) =>
          checked('RegSetValueEx', SetValue(key, value, 0, type, data, data.length));
        set('EventMessageFile', TYPES.EXPANDED, wideText(MESSAGES));
        set('TypesSupported', TYPES.NUMBER, Buffer.from(Uint32Array.of(ALL_KINDS).buffer));
      } finally {
        CloseKey(key);
      }
    },
    unregister() {
      const number: number = DeleteKey(LOCAL_MACHINE, `${PARENT}\\${source}`);
      if (number !== NOT_THERE) checked('RegDeleteKey', number);
    },
  };
}
