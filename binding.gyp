{
  "targets": [
    {
      "target_name": "tritonts",
      "type": "none",
      "actions": [
        {
          "action_name": "cmake",
          "inputs": ["native/CMakeLists.txt"],
          "outputs": ["build/Release/tritonts.node"],
          "action": ["node", "scripts/build-addon.mjs"]
        }
      ]
    }
  ]
}
