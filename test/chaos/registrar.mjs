/** Registers backends of the chaos with the program's control service, as something beside each of them would. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const proto = fileURLToPath(new URL('../../protos/hedgerow/registry/v1/registry.proto', import.meta.url));
const { Registry } = grpc.loadPackageDefinition(loadSync(path.normalize(proto))).hedgerow.registry.v1;

/** One backend's registration: made, left and broken as often as wanted. */
export class Registration {
  /** Ends that nobody asked for. @type {string[]} */
  broken = [];
  #client;
  #name;
  #target;
  #stream = null;

  /** @param {string} control @param {string} name @param {string} target */
  constructor(control, name, target) {
    this.#client = new Registry(control, grpc.credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    this.#name = name;
    this.#target = target;
  }

  /** Resolves when it stands. @param {string} [target] another address from now on */
  register(target = this.#target) {
    this.#target = target;
    const stream = this.#client.Register();
    this.#stream = stream;
    stream.write({ registration: { name: this.#name, target: this.#target } });
    return new Promise((resolve, reject) => {
      stream.on('data', (message) => {
        if (message.registered) resolve();
      });
      stream.on('error', () => {});
      stream.on('status', ({ code, details }) => {
        const told = `${new Date().toISOString()} registration of ${this.#name}: ${code} ${details}`;
        if (this.#stream === stream) this.broken.push(told);
        reject(new Error(told));
      });
    });
  }

  /** In peace: its calls may finish. */
  leave() {
    const stream = this.#take();
    stream?.end();
  }

  /** As when the backend dies. */
  break() {
    this.#take()?.cancel();
  }

  close() {
    this.leave();
    this.#client.close();
  }

  #take() {
    const stream = this.#stream;
    this.#stream = null;
    return stream;
  }
}
