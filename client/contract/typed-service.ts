// The typed face: the operations of a service as functions, with the types that protobuf-es has generated for its messages in
// JSON. Nothing is described a second time: the types are computed from the descriptor's, and the calls from its facts.

import type { DescMessage, DescService, MessageJsonType } from "@bufbuild/protobuf";
import type { JsonObject } from "#base/json.ts";
import type { Answer, Caller, CallOptions, PagesOptions } from "#client";
import type { Operation } from "./operation.ts";

/** A request: fields may also be said to be undefined, which is the same as leaving them out, so that what was answered can be sent. */
export type Sent<Value> = Value extends readonly (infer Entry)[]
  ? readonly Sent<Entry>[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: Sent<Value[Key]> | undefined }
    : Value;

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;

/** The fields of an answer that hold lists of messages. */
type ListedKey<Reply> = {
  [Key in keyof Reply]-?: NonNullable<Reply[Key]> extends readonly (infer Item)[] ? (Item extends object ? Key : never) : never;
}[keyof Reply];

type EntryOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** What a list's answer lists: the entries of its one list of messages; never, where it has none or several. */
export type ItemOf<Reply> = [ListedKey<Reply>] extends [never]
  ? never
  : IsUnion<ListedKey<Reply>> extends false
    ? EntryOf<NonNullable<Reply[ListedKey<Reply>]>>
    : never;

export interface OperationFunction<Request, Reply> {
  (request: Request, options?: CallOptions): Promise<Reply>;
  /** The same, with the headers and the ETag. */
  answer(request: Request, options?: CallOptions): Promise<Answer<Reply>>;
}

export interface ListFunction<Request, Reply> extends OperationFunction<Request, Reply> {
  /** Page by page. */
  pages(request: Request, options?: CallOptions & PagesOptions): AsyncIterable<Reply>;
  /** Entry by entry, of all pages. */
  all(request: Request, options?: CallOptions & PagesOptions): AsyncIterable<ItemOf<Reply>>;
}

type FunctionOf<Request, Reply> = [ItemOf<Reply>] extends [never] ? OperationFunction<Request, Reply> : ListFunction<Request, Reply>;

/** `client.service(GroupsService)`: its operations by their names in lower camel case. */
export type ServiceClient<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: Service["method"][Name] extends {
    readonly input: infer Input extends DescMessage;
    readonly output: infer Output extends DescMessage;
  }
    ? FunctionOf<Sent<MessageJsonType<Input>>, MessageJsonType<Output>>
    : never;
};

/** The service's operations, called through this client. */
export const serviceClient = <Service extends DescService>(client: Caller<Operation>, service: Service): ServiceClient<Service> => {
  const functions = service.methods.map((descriptor) => {
    const call = (request: JsonObject, options?: CallOptions): Promise<JsonObject> => client.call(descriptor, request, options);
    return [
      descriptor.localName,
      Object.assign(call, {
        answer: (request: JsonObject, options?: CallOptions) => client.answer(descriptor, request, options),
        pages: (request: JsonObject, options?: CallOptions & PagesOptions) => client.pages(descriptor, request, options),
        all: (request: JsonObject, options?: CallOptions & PagesOptions) => client.items(descriptor, request, options),
      }),
    ] as const;
  });
  // The types say of the same descriptor what the functions do with it; that both agree is tested by tsc and over the contract.
  return Object.fromEntries(functions) as unknown as ServiceClient<Service>;
};
