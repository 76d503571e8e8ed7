/** Access lists of files and folders (advapi32.dll). */
import { createHash } from 'node:crypto';
import { resolve, toNamespacedPath } from 'node:path';
import { type ForeignFunctions, type Handle, WindowsError } from './foreign-functions.js';

/** Rights of an account in the language of security descriptors: all, or reading. */
export type Rights = 'FA' | 'FR';

export interface AccessLists {
  /** Lets only this user, the system, administrators and `others` (security identifiers) use a file, or a folder with all below it. Throws
   *  {@link WindowsError}. */
  restrict(path: string, kind: 'file' | 'folder', others?: Readonly<Record<string, Rights>>): void;
  /** Security identifiers of all who have a right to a path. Throws {@link WindowsError}. */
  accountsWithAccess(path: string): string[];
  /** Security identifier of the user of this process. */
  readonly ownSid: string;
}

/** Accounts that own a host: the system and its administrators. */
const OWNERS = { SY: 'S-1-5-18', BA: 'S-1-5-32-544' } as const;

const FILE_OBJECT = 1;
const ACCESS_LIST = 0x4;
/** Flag: rights of the folder above do not count. */
const NOT_INHERITED = 0x80000000;
const REVISION = 1;
const TOKEN_QUERY = 0x8;
const TOKEN_USER = 1;
const TOKEN_BYTES = 256;
const BELOW = { file: '', folder: 'OICI' };

/** Security identifier of the identity that a service has by its name (SERVICE_SID_INFO). */
export function serviceSid(name: string): string {
  const digest = createHash('sha1').update(name.toUpperCase(), 'utf16le').digest();
  const parts = [0, 4, 8, 12, 16].map((at) => digest.readUInt32LE(at));
  return `S-1-5-80-${parts.join('-')}`;
}

/** Opens the functions; throws when that fails. */
export function accessLists(koffi: ForeignFunctions): AccessLists {
  const functions = functionsOf(koffi);
  const failed = (call: string) => new WindowsError(call, functions.GetLastError());
  const address = (pointer: Buffer) => pointer.readBigUInt64LE(0);

  const withDescriptor = <T>(text: string, use: (list: bigint) => T): T => {
    const descriptor = Buffer.alloc(8);
    if (!functions.DescriptorOf(text, REVISION, descriptor, null))
      throw failed('ConvertStringSecurityDescriptor');
    try {
      const [isPresent, list, isDefault] = [Buffer.alloc(4), Buffer.alloc(8), Buffer.alloc(4)];
      if (!functions.ListOf(address(descriptor), isPresent, list, isDefault))
        throw failed('GetSecurityDescriptorDacl');
      return use(address(list as Buffer));
    } finally {
      functions.LocalFree(address(descriptor));
    }
  };
  const ownSid = readOwnSid(functions, koffi);

  return {
    ownSid,
    restrict(path, kind, others = {}) {
      const entry = (rights: Rights, account: string) => `(A;${BELOW[kind]};${rights};;;${account})`;
      const entries = [
        ...['SY', 'BA', ownSid].map((account) => entry('FA', account)),
        ...Object.entries(others).map(([sid, rights]) => entry(rights, sid)),
      ];
      withDescriptor(`D:P${entries.join('')}`, (list) => {
        const what = ACCESS_LIST | NOT_INHERITED;
        const name = toNamespacedPath(resolve(path));
        const number: number = functions.Set(name, FILE_OBJECT, what >>> 0, null, null, list, null);
        if (number !== 0) throw new WindowsError(`SetNamedSecurityInfo (${path})`, number);
      });
    },
    accountsWithAccess(path) {
      const descriptor = Buffer.alloc(8);
      const name = toNamespacedPath(resolve(path));
      const none = [null, null, null, null] as const;
      const number: number = functions.Get(name, FILE_OBJECT, ACCESS_LIST, ...none, descriptor);
      if (number !== 0) throw new WindowsError(`GetNamedSecurityInfo (${path})`, number);
      try {
        return accountsIn(textOf(functions, koffi, address(descriptor)));
      } finally {
        functions.LocalFree(address(descriptor));
      }
    },
  };
}

/** Accounts that a list in the language of security descriptors allows something; its short names of owners are written out. */
export function accountsIn(descriptor: string): string[] {
  const accounts = [...descriptor.matchAll(/\(A;[^;]*;[^;]*;[^;]*;[^;]*;([^;)]+)\)/g)].map(
    ([, account = '']) => (account in OWNERS ? OWNERS[account as keyof typeof OWNERS] : account),
  );
  return [...new Set(accounts)];
}

type Functions = ReturnType<typeof functionsOf>;

function functionsOf(koffi: ForeignFunctions) {
  const library = koffi.load('advapi32.dll');
  const kernel = koffi.load('kernel32.dll');
  return {
    GetLastError: kernel.func('uint32_t __stdcall GetLastError()'),
    GetCurrentProcess: kernel.func('void *__stdcall GetCurrentProcess()'),
    CloseHandle: kernel.func('bool __stdcall CloseHandle(void *handle)'),
    LocalFree: kernel.func('void *__stdcall LocalFree(void *memory)'),
    DescriptorOf: library.func(
      'bool __stdcall ConvertStringSecurityDescriptorToSecurityDescriptorW(str16 text, uint32_t revision, void *descriptor, void *bytes)',
    ),
    TextOf: library.func(
      'bool __stdcall ConvertSecurityDescriptorToStringSecurityDescriptorW(void *descriptor, uint32_t revision, uint32_t what, ' +
        'void *text, void *length)',
    ),
    ListOf: library.func(
      'bool __stdcall GetSecurityDescriptorDacl(void *descriptor, void *present, void *list, void *byDefault)',
    ),
    Set: library.func(
      'uint32_t __stdcall SetNamedSecurityInfoW(str16 name, int kind, uint32_t what, void *owner, void *group, void *list, void *audit)',
    ),
    Get: library.func(
      'uint32_t __stdcall GetNamedSecurityInfoW(str16 name, int kind, uint32_t what, void *owner, void *group, void *list, ' +
        'void *audit, void *descriptor)',
    ),
    OpenProcessToken: library.func(
      'bool __stdcall OpenProcessToken(void *process, uint32_t access, void *token)',
    ),
    GetTokenInformation: library.func(
      'bool __stdcall GetTokenInformation(void *token, int kind, void *into, uint32_t bytes, void *needed)',
    ),
    SidText: library.func('bool __stdcall ConvertSidToStringSidW(void *sid, void *text)'),
    TextLength: kernel.func('int __stdcall lstrlenW(void *text)'),
  };
}

function textOf(functions: Functions, koffi: ForeignFunctions, descriptor: bigint): string {
  const text = Buffer.alloc(8);
  if (!functions.TextOf(descriptor, REVISION, ACCESS_LIST, text, null))
    throw new WindowsError('ConvertSecurityDescriptorToString', functions.GetLastError());
  return takeText(functions, koffi, text.readBigUInt64LE(0));
}

function readOwnSid(functions: Functions, koffi: ForeignFunctions): string {
  const opened = Buffer.alloc(8);
  if (!functions.OpenProcessToken(functions.GetCurrentProcess(), TOKEN_QUERY, opened))
    throw new WindowsError('OpenProcessToken', functions.GetLastError());
  const token = opened.readBigUInt64LE(0) as unknown as Handle;
  try {
    const user = Buffer.alloc(TOKEN_BYTES);
    const text = Buffer.alloc(8);
    const isRead =
      functions.GetTokenInformation(token, TOKEN_USER, user, user.length, Buffer.alloc(4)) &&
      functions.SidText(user.readBigUInt64LE(0), text);
    if (!isRead) throw new WindowsError('GetTokenInformation', functions.GetLastError());
    return takeText(functions, koffi, text.readBigUInt64LE(0));
  } finally {
    functions.CloseHandle(token);
  }
}

/** Reads a text of Windows, and frees it. */
function takeText(functions: Functions, koffi: ForeignFunctions, address: bigint): string {
  try {
    return koffi.decode(address, 'char16', functions.TextLength(address)) as string;
  } finally {
    functions.LocalFree(address);
  }
}
