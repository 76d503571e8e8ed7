/** The signatures of manifests. */

/** A text with its signature: a flattened JWS (RFC 7515). */
export interface SignedText {
  /** Header in Base64url: algorithm and name of the key. */
  readonly protected: string;
  /** UTF-8 of the text in Base64url. */
  readonly payload: string;
  readonly signature: string;
}

/** A public key for Ed25519 as a JWK (RFC 8037). */
export interface PublicKey {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  /** Its thumbprint (RFC 7638). */
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

export interface TextSigner {
  /** Signs with the newest key: the same text always gets the same signature. */
  sign(text: string): Promise<SignedText>;
  /** The public keys, the newest first. */
  readonly publicKeys: readonly PublicKey[];
}
