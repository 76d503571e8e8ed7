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
      /** DOWN: the receiver could not be reached or is in trouble, so that other messages fare the same. UP: it responded. UNKNOWN:
       *  nothing was sent. */
      readonly receiver: 'DOWN' | 'UP' | 'UNKNOWN';
      /** Whether the receiver wants no such message ever again. */
      readonly isFinal: boolean;
      /** Time for which the receiver wants no more messages. */
      readonly retryAfterMs: number;
    };

export interface WebhookSender {
  /** Sends a message once. Never rejects. */
  send(message: WebhookMessage): Promise<SendOutcome>;
  /** Breaks off all that is being sent. */
  close(): void;
}
