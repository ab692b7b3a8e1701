import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** Where protos/ is, from src/ and from dist/ alike. */
export const protoRoot = fileURLToPath(new URL('../../protos', import.meta.url));

// The messages of hedgerow/demo/v1/demo.proto, as proto-loader gives them with the options below.

export interface Order {
  readonly id: number;
  readonly item: string;
  readonly quantity: number;
  readonly servedBy: string;
}
export interface GetOrderRequest {
  readonly id: number;
}
export interface FindOrderRequest {
  readonly item: string;
}
export interface ListOrdersRequest {
  readonly firstId: number;
  readonly count: number;
}
export interface UploadOrdersResponse {
  readonly stored: number;
}
export interface ChatLine {
  readonly from: string;
  readonly text: string;
}
export interface ChargeRequest {
  readonly orderId: number;
  readonly cents: number;
}
export interface ChargeResponse {
  readonly receipt: string;
}

interface OrdersService extends ServiceDefinition {
  readonly GetOrder: MethodDefinition<GetOrderRequest, Order>;
  readonly FindOrder: MethodDefinition<FindOrderRequest, Order>;
  readonly ListOrders: MethodDefinition<ListOrdersRequest, Order>;
  readonly UploadOrders: MethodDefinition<Order, UploadOrdersResponse>;
  readonly Chat: MethodDefinition<ChatLine, ChatLine>;
}

interface PaymentsService extends ServiceDefinition {
  readonly Charge: MethodDefinition<ChargeRequest, ChargeResponse>;
}

export interface Protocol {
  readonly orders: OrdersService;
  readonly payments: PaymentsService;
}

/** Reads protos/. Throws where it is missing or broken, which means a broken installation. */
export function loadProtocol(): Protocol {
  const definitions = loadSync('hedgerow/demo/v1/demo.proto', {
    includeDirs: [protoRoot],
    longs: Number,
    defaults: true,
  });
  // The interfaces above say what the file says; nothing can check that but the calls of the demo themselves.
  return {
    orders: definitions['hedgerow.demo.v1.Orders'] as unknown as OrdersService,
    payments: definitions['hedgerow.demo.v1.Payments'] as unknown as PaymentsService,
  };
}
