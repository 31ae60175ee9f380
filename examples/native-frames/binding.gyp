{
  "targets": [
    {
      "target_name": "frames",
      "sources": ["frames.c"],
      "include_dirs": ["<!(node -p \"require('tritonts').nativeApi.include\")"],
      "defines": ["NAPI_VERSION=9"],
    }
  ]
}
