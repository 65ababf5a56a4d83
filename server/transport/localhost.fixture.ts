// A self-signed certificate of localhost for the tests, until 2126. Its key is public; it guards nothing.

export const localhost = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUUnSOxs16o5XgTAfjwF6xiqm5qDswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDIzMTAzMloYDzIxMjYxMDI3
MjMxMDMyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATop1DOReIo0toumYJgxQ8SazUpgV7vYLWkm5FaOhY2o9e6t+KmvEqP
KcqUlJwPBFqY7Ogp3zFHJHfDHyyxuENJo28wbTAdBgNVHQ4EFgQUVtmTcjXvvCz7
zwlN3VDsnvrAbUgwHwYDVR0jBBgwFoAUVtmTcjXvvCz7zwlN3VDsnvrAbUgwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhALFXQfd1NGvVpZxVjA7o+aaHjJzyCnhuXIvVf8N5iKusAiA7
OuHcCYvemC1RZAVXj2cuo6w26TYx93y/7/y+iWfY+Q==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWgFVjU7fUiopWRSj
HctgDsKXv+0ro8gS4oZsVGsmNSahRANCAATop1DOReIo0toumYJgxQ8SazUpgV7v
YLWkm5FaOhY2o9e6t+KmvEqPKcqUlJwPBFqY7Ogp3zFHJHfDHyyxuENJ
-----END PRIVATE KEY-----
`,
};
