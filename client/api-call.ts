// A request in progress: a promise of the response's data, or of the whole response.

/** A response with its headers. */
export interface ApiResponse<Data> {
  readonly data: Data;
  /** Headers in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of a resource that was read or changed: pass it as `ifMatch` to change only this version. */
  readonly etag: string | undefined;
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
}

/**
 * A promise of the data that the server returns. It rejects with an `ApiError`, or with the reason of the `signal` that ended it.
 *
 * @example
 * ```ts
 * const group = await gantry.iam.groups.get({ uid: "GROUP_UID" });
 * const { data, etag } = await gantry.iam.groups.get({ uid: "GROUP_UID" }).withResponse();
 * ```
 */
export class ApiCall<Data> extends Promise<Data> {
  readonly #response: Promise<ApiResponse<Data>>;

  /** `then` returns a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(response: Promise<ApiResponse<Data>>) {
    super((resolve, reject) => void response.then(({ data }) => resolve(data), reject));
    this.#response = response;
  }

  /**
   * Returns the data together with the response's headers and ETag.
   *
   * @example
   * ```ts
   * const { data, etag } = await gantry.iam.groups.get({ uid: "GROUP_UID" }).withResponse();
   * await gantry.iam.groups.update({ group: { uid: data.uid, description: "New" } }, { ifMatch: etag });
   * ```
   */
  withResponse(): Promise<ApiResponse<Data>> {
    // The returned promise reports the failure; this one must not report it again.
    this.catch(() => {});
    return this.#response.then((response) => response);
  }
}
