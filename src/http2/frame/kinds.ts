/** RFC 9113 6. */
export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

/** RFC 9113 6: each has its meaning on some frame types only and is ignored on the others (4.1). */
export const Flag = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** RFC 9113 4.1. */
export const frameHeaderLength = 9;

/** RFC 9113 4.2: what every endpoint accepts. */
export const minMaxFrameSize = 16_384;
export const maxMaxFrameSize = 2 ** 24 - 1;

/** RFC 9113 6.9.1; stream identifiers (5.1.1) end there too. */
export const maxUint31 = 2 ** 31 - 1;

/** RFC 9113 6.9.2: each window's size before any SETTINGS or WINDOW_UPDATE. */
export const defaultWindow = 65_535;

/** RFC 9113 3.4: a client's first 24 bytes. */
export const clientPreface: Uint8Array = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
