-- datasets.lua -- torchvision.datasets: FashionMNIST and MNIST from idx files
--
--     local train = torchvision.datasets.FashionMNIST("data", {train = true})
--     local image, label = train:getitem(0)          image: uint8 (28, 28); label: integer
--     train.data, train.targets                      uint8 (60000, 28, 28), int64 (60000)
--
-- Files are looked for in root, root/<Name>/raw, root/<Name>, and where the system keeps them.
--
-- INVARIANT  The set stays uint8 in memory (47 MB); transforms run sample by sample.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local list = require "dlrepl.list"
local data = require "torch.utils.data"

local torch, raise = core.torch, core.raise
local M = {}

local function readable(path)
  local f = io.open(path, "rb")
  if not f then return false end
  local ok = f:read(0) ~= nil or f:seek("end") == 0
  f:close()
  return ok
end

local function find(folders, stem)
  for _, folder in ipairs(folders) do
    for _, ending in ipairs {"", ".gz"} do
      local path = folder .. "/" .. stem .. ending
      if readable(path) then return path end
    end
  end
end

local function not_found(self, folders)
  raise("RuntimeError", "Dataset not found. You can use download=True to download it", {
    kind = "io",
    notes = {
      "looked in: " .. table.concat(folders, ", "),
      self._help,
      "dlrepl does not download: put the four files train-images-idx3-ubyte[.gz], "
      .. "train-labels-idx1-ubyte[.gz], t10k-… into one of these folders",
    },
  })
end

local read = args("MNIST.__init__(str root, bool train=True, fn? transform=None, "
                  .. "fn? target_transform=None, bool download=False)")

local function load(self, ...)
  local root, train, transform, target_transform = read(...)
  self.root, self.train = root, train
  self.transform, self.target_transform = transform, target_transform
  local name = self.__class__.__name__
  local folders = {root, root .. "/" .. name .. "/raw", root .. "/" .. name, self._system}
  local stem = train and "train" or "t10k"
  local images = find(folders, stem .. "-images-idx3-ubyte")
  local labels = find(folders, stem .. "-labels-idx1-ubyte")
  if not (images and labels) then not_found(self, folders) end
  self.data = core.read_idx(images)
  self.targets = core.read_idx(labels):to(torch.int64)
  if self.data:dim() ~= 3 or self.targets:dim() ~= 1 or self.data:size(0)
    ~= self.targets:size(0) then
    raise("RuntimeError", string.format("%s and %s do not belong together: shapes %s and %s",
      images,
          labels, tostring(self.data.shape), tostring(self.targets.shape)), {kind = "io"})
  end
end

local function define(name, system, help, classes, base)
  local cls = class.new(name, base or data.Dataset)
  cls._system, cls._help, cls.classes = system, help, list.new(classes)
  cls.init = load
  function cls.len(self) return self.data:size(0) end
  function cls.getitem(self, i)
    local image, label = self.data[i], self.targets[i]:item()
    if self.transform then image = self.transform(image) end
    if self.target_transform then label = self.target_transform(label) end
    return image, label
  end
  function cls.repr(self)
    return string.format("Dataset %s\n    Number of datapoints: %d\n    Root location: %s\n    "
      .. "Split: %s",
      self.__class__.__name__, #self, self.root, self.train and "Train" or "Test")
  end
  M[name] = cls
end

define("MNIST", "/usr/share/datasets/mnist",
  "MNIST's files: https://ossci-datasets.s3.amazonaws.com/mnist/", {
  "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
  "8 - eight", "9 - nine"})

define("FashionMNIST", "/usr/share/datasets/fashion-mnist",
  "on Debian and Ubuntu: apt install dataset-fashion-mnist; elsewhere: "
  .. "https://github.com/zalandoresearch/fashion-mnist (data/fashion)", {
  "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
  "Ankle boot"}, M.MNIST)

return M
