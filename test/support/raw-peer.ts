/*
 * A scripted backend and a scripted client on real loopback sockets, with exact frames. They share nothing with src/http2, so
 * that they can judge it. All waiting is for events, at most 10 s.
 */
export { type Behaviour, behave } from './behave.js';
export { type RawBackend, type RawBackendOptions, startRawBackend } from './raw-backend.js';
export { connectRawClient, type RawCall, type RawCallOptions, type RawClient } from './raw-client.js';
