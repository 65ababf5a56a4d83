// An operation as the client needs it: where its request goes, and whether it can be retried. The facts of the contract
// (contract/facts.ts) have this shape; the package has a shorter table (client/gen/operations.ts), generated from them.

export interface FieldShape {
  /** Its name in JSON. */
  readonly json: string;
  /** "list" if it holds any number of values. */
  readonly shape: string;
  /** The message that it holds. */
  readonly message: MessageShape | undefined;
}

export interface MessageShape {
  readonly fields: readonly FieldShape[];
  /** By each name that a request may use. */
  readonly byName: ReadonlyMap<string, FieldShape>;
}

export interface OperationShape {
  /** "chainguard.platform.iam.v2.GroupsService/GetGroup" */
  readonly name: string;
  /** "GetGroup" */
  readonly rpc: string;
  readonly http: readonly {
    readonly verb: string;
    /** "/iam/v2/groups/{uid=**}" */
    readonly template: string;
    /** The field that the body holds; "*" for the whole request; "" for none. */
    readonly body: string;
  }[];
  readonly input: MessageShape;
  readonly output: MessageShape;
  readonly writes: boolean;
  /** It needs no token. */
  readonly open: boolean;
  readonly givesFile: boolean;
  /** Its paths in other protocols, for which the server stores no idempotency keys; undefined: it has none. */
  readonly distribution: object | undefined;
  readonly scim: object | undefined;
}

/** Reports whether sending the same request twice does no more than sending it once. */
export const isSafeToRepeat = ({ writes }: OperationShape): boolean => !writes;

/** Reports whether the server stores the first response for an idempotency key (decisions: Safe writes). */
export const takesIdempotencyKey = ({ writes, open, distribution, scim }: OperationShape): boolean =>
  writes && !open && distribution === undefined && scim === undefined;

/** The field of a response that holds what is listed: its one list of messages; undefined if it has none or several. */
export const listedField = ({ output }: Pick<OperationShape, "output">): FieldShape | undefined => {
  const [first, second] = output.fields.filter(({ shape, message }) => shape === "list" && message !== undefined);
  return second === undefined ? first : undefined;
};
