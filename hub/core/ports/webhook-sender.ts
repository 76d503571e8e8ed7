/** Sending of webhooks. */

/** A signed message for a receiver. */
export interface WebhookMessage {
  readonly url: string;
  /** The same at each try; visible ASCII characters. */
  readonly id: string;
  /** Time of this try, in seconds since 1970. */
  readonly timestampS: number;
  /** JSON. */
  readonly body: string;
}

export type SendOutcome =
  | { readonly kind: 'DELIVERED' }
  | {
      readonly kind: 'FAILED';
      /** Why, in words, without anything that the receiver wrote. */
      readonly fault: string;
      /** Whether the receiver could not be reached or is in trouble, so that other messages fare the same. */
      readonly isReceiverDown: boolean;
      /** Whether the receiver wants no such message ever again. */
      readonly isFinal: boolean;
      /** Time for which the receiver wants no more messages. */
      readonly retryAfterMs: number;
    };

export interface WebhookSender {
  /** Sends a message once. Never rejects; after an abort, the outcome means nothing. */
  send(message: WebhookMessage, signal: AbortSignal): Promise<SendOutcome>;
  /** Ends all connections. */
  close(): void;
}
