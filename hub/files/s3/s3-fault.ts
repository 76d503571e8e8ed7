/** Faults of an object store, in words for the operator. */
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { HubError } from '../../core/errors.js';
import { locationOf, type S3Settings } from './s3-settings.js';

/** AWAY: it does not respond, or with errors of its own; it may be back soon. REFUSED: it does not do what the hub asks until somebody
 *  changes something. MISSING: the object does not exist. UNSUPPORTED: the store does not have such a request. */
export type S3FaultKind = 'AWAY' | 'REFUSED' | 'FULL' | 'MISSING' | 'UNSUPPORTED';

export class S3Fault extends Error {
  override readonly name = 'S3Fault';
  readonly kind: S3FaultKind;
  /** The remedy. */
  readonly advice: string;

  /** Without the error of the SDK, which holds the whole request. */
  constructor(kind: S3FaultKind, message: string, advice: string) {
    super(message);
    this.kind = kind;
    this.advice = advice;
  }
}

/** An error of the AWS SDK or of the network, as far as it is looked at. */
interface SdkError {
  readonly name?: string;
  readonly Code?: string;
  readonly code?: string;
  readonly message?: string;
  readonly errors?: readonly { readonly code?: string }[];
  readonly $metadata?: { readonly httpStatusCode?: number };
}

type Words = readonly [kind: S3FaultKind, message: string, advice: string];

const KEYS = 'correct the keys in storage.s3.accessKeyIdFile and storage.s3.secretAccessKeyFile';
const LATER = 'see the log of the object store; the hub goes on when it is back';

/** The fault behind an error. `what` says what was asked, such as `reading an object`, and `right` names the right for it. */
export function faultOf(error: unknown, what: string, right: string, settings: S3Settings): S3Fault {
  if (error instanceof S3Fault) return error;
  const [kind, message, advice] = wordsOf(error as SdkError, { what, right, settings });
  return new S3Fault(kind, message, advice);
}

/** The error for clients, who learn nothing about the object store. */
export function clientError(fault: S3Fault): HubError {
  if (fault.kind === 'FULL')
    return new HubError('STORAGE_FULL', 'the object store of the hub is full; the file was not kept', {
      cause: fault,
    });
  return new HubError('STORE_UNAVAILABLE', 'the hub cannot use its object store at present', {
    cause: fault,
    retryAfterS: 5,
  });
}

interface Asked {
  readonly what: string;
  readonly right: string;
  readonly settings: S3Settings;
}

function wordsOf(error: SdkError, asked: Asked): Words {
  const code = codeOf(error);
  const status = error.$metadata?.httpStatusCode;
  return (
    wordsOfCode(code, status, asked) ??
    wordsOfNetwork(code, asked.settings) ??
    wordsOfStatus(code, status, error, asked)
  );
}

/** Names of errors that responses without a body, as to HEAD, do not have. */
const NAMELESS = new Set(['UnknownError', 'Unknown', 'Error', 'NotFound', '403', '404', '301', '400']);

function codeOf(error: SdkError): string {
  const network = error.code ?? error.errors?.find(({ code }) => code !== undefined)?.code;
  const name = error.Code ?? error.name ?? '';
  return network ?? (NAMELESS.has(name) ? '' : name);
}

function wordsOfCode(
  code: string,
  status: number | undefined,
  { what, right, settings }: Asked,
): Words | undefined {
  const { bucket, region } = settings;
  switch (code) {
    case 'NoSuchKey':
      return ['MISSING', 'the object does not exist', 'restore it from a backup of the bucket'];
    case 'NoSuchBucket':
      return ['REFUSED', `there is no bucket ${bucket}`, 'make it, or correct storage.s3.bucket'];
    case 'InvalidBucketName':
      return ['REFUSED', `${bucket} is no name of a bucket`, 'correct storage.s3.bucket'];
    case 'InvalidAccessKeyId':
      return ['REFUSED', 'the object store does not know the access key', KEYS];
    case 'SignatureDoesNotMatch':
      return ['REFUSED', 'the secret key does not belong to the access key', KEYS];
    case 'ExpiredToken':
    case 'InvalidToken':
    case 'TokenRefreshRequired':
      return ['REFUSED', `the credentials are not valid any more (${code})`, KEYS];
    case 'CredentialsProviderError':
      return [
        'REFUSED',
        'there are no credentials for the object store',
        'set storage.s3.accessKeyIdFile and storage.s3.secretAccessKeyFile, or give the machine a role',
      ];
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return [
        'REFUSED',
        'the clocks of this machine and of the object store differ too much',
        'synchronize them (chronyd, systemd-timesyncd)',
      ];
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'AccountProblem':
      return ['REFUSED', `the object store refuses ${what} (${code})`, `give the key the right ${right}`];
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return [
        'REFUSED',
        `the bucket ${bucket} is not in the region ${region}, or not at this address (${code})`,
        'correct storage.s3.region or storage.s3.endpoint',
      ];
    case 'QuotaExceeded':
    case 'XMinioStorageFull':
    case 'XMinioAdminBucketQuotaExceeded':
    case 'InsufficientCapacity':
      return ['FULL', `the object store is full (${code})`, 'give it room, or raise the quota of the bucket'];
    default:
      return status === 507 ? ['FULL', 'the object store is full (507)', 'give it room'] : undefined;
  }
}

const CERTIFICATES = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;
const NETWORK =
  /^(?:E(?:CONN(?:REFUSED|RESET|ABORTED)|TIMEDOUT|PIPE|HOST(?:UNREACH|DOWN)|NET(?:UNREACH|DOWN|RESET)|ADDRNOTAVAIL|ACCES)|ERR_STREAM_PREMATURE_CLOSE|HPE_[A-Z_]+|TimeoutError)$/;

function wordsOfNetwork(code: string, settings: S3Settings): Words | undefined {
  const where = settings.endpoint ?? `Amazon in ${settings.region}`;
  if (CERTIFICATES.test(code))
    return [
      'REFUSED',
      `the certificate of ${where} is not trusted (${code})`,
      'name its authority in storage.s3.ca',
    ];
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return [
      'AWAY',
      `the name of ${where} cannot be resolved (${code})`,
      'correct storage.s3.endpoint or the DNS; for a store without a name for each bucket, set storage.s3.pathStyle',
    ];
  if (code === 'EPROTO' || code === 'HPE_INVALID_CONSTANT' || code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return [
      'REFUSED',
      `${where} does not speak the protocol of the address (${code})`,
      'correct http or https in storage.s3.endpoint',
    ];
  if (!NETWORK.test(code)) return undefined;
  return [
    'AWAY',
    `${where} does not respond (${code})`,
    'start the object store, or correct storage.s3.endpoint or the network between',
  ];
}

function wordsOfStatus(
  code: string,
  status: number | undefined,
  error: SdkError,
  { what, right, settings }: Asked,
): Words {
  const { bucket } = settings;
  const shown = [status, code].filter((each) => each !== undefined && each !== '').join(' ');
  if (status === 404)
    return right === LIST_RIGHT
      ? ['REFUSED', `there is no bucket ${bucket}`, 'make it, or correct storage.s3.bucket']
      : ['MISSING', 'the object does not exist', 'restore it from a backup of the bucket'];
  if (status === 301 || status === 307)
    return [
      'REFUSED',
      `the bucket ${bucket} is in another region than ${settings.region}`,
      'correct storage.s3.region or storage.s3.endpoint',
    ];
  if (status === 403 || status === 401)
    return [
      'REFUSED',
      `the object store refuses ${what} (${shown})`,
      `${KEYS}, or give the key the right ${right}`,
    ];
  if (status === 501) return ['UNSUPPORTED', `the object store does not have ${what} (${shown})`, LATER];
  if (status === 429 || code === 'SlowDown' || (status !== undefined && status >= 500))
    return ['AWAY', `the object store answers ${what} with ${shown}`, LATER];
  if (status === undefined) return ['AWAY', `${what} broke off: ${messageOf(error)}`, LATER];
  return ['REFUSED', `the object store answers ${what} with ${shown}: ${messageOf(error)}`, LATER];
}

/** Right to see the bucket and to list its objects. */
export const LIST_RIGHT = 's3:ListBucket';

/** The fault with its remedy, in one sentence. */
export function sentenceOf({ message, advice }: S3Fault, settings: S3Settings): string {
  return `${locationOf(settings)}: ${message}: ${advice}`;
}
