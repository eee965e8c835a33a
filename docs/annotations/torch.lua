---@meta
-- Written by `make docs`. For the Lua language server: put this folder into workspace.library.

---@class torch.Size: integer[]
---@class torch.dtype
---@class torch.device
---@class torch.Generator

---@class torch.Tensor
---@field shape torch.Size
---@field dtype torch.dtype
---@field device torch.device
---@field grad torch.Tensor?
---@field grad_fn any
---@field requires_grad boolean
---@field is_leaf boolean
---@field ndim integer
---@field T torch.Tensor
---@field data torch.Tensor
---@operator add(torch.Tensor|number): torch.Tensor
---@operator sub(torch.Tensor|number): torch.Tensor
---@operator mul(torch.Tensor|number): torch.Tensor
---@operator div(torch.Tensor|number): torch.Tensor
---@operator mod(torch.Tensor|number): torch.Tensor
---@operator idiv(torch.Tensor|number): torch.Tensor
---@operator pow(torch.Tensor|number): torch.Tensor
---@operator unm: torch.Tensor
---@operator len: integer
local Tensor = {}

torch = {Tensor = Tensor, linalg = {}}
F = {}

---self + alpha * other, with broadcasting
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, alpha?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.add(self, other, keywords) end

---self + alpha * other, with broadcasting
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, alpha?: number}
---@return torch.Tensor
function Tensor:add(other, keywords) end

---self + alpha * other, with broadcasting
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, alpha?: number}
---@return torch.Tensor
function Tensor:add_(other, keywords) end

---self - alpha * other, with broadcasting
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, alpha?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.sub(self, other, keywords) end

---self - alpha * other, with broadcasting
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, alpha?: number}
---@return torch.Tensor
function Tensor:sub(other, keywords) end

---self - alpha * other, with broadcasting
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, alpha?: number}
---@return torch.Tensor
function Tensor:sub_(other, keywords) end

---other - alpha * self
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, alpha?: number}
---@return torch.Tensor
function torch.rsub(self, other, keywords) end

---self * other, element by element
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.mul(self, other, keywords) end

---self * other, element by element
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:mul(other, keywords) end

---self * other, element by element
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:mul_(other, keywords) end

---self / other rounded: rounding_mode 'floor' or 'trunc'
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, rounding_mode?: string, out?: torch.Tensor}
---@return torch.Tensor
function torch.div(self, other, keywords) end

---self / other rounded: rounding_mode 'floor' or 'trunc'
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, rounding_mode?: string}
---@return torch.Tensor
function Tensor:div(other, keywords) end

---self / other rounded: rounding_mode 'floor' or 'trunc'
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number, rounding_mode?: string}
---@return torch.Tensor
function Tensor:div_(other, keywords) end

---self / other rounded towards minus infinity
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.floor_divide(self, other, keywords) end

---self / other rounded towards minus infinity
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:floor_divide(other, keywords) end

---self / other rounded towards minus infinity
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:floor_divide_(other, keywords) end

---Python's %: the result has the sign of other
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.remainder(self, other, keywords) end

---Python's %: the result has the sign of other
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:remainder(other, keywords) end

---Python's %: the result has the sign of other
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:remainder_(other, keywords) end

---C's fmod: the result has the sign of self
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.fmod(self, other, keywords) end

---C's fmod: the result has the sign of self
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:fmod(other, keywords) end

---C's fmod: the result has the sign of self
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:fmod_(other, keywords) end

---self to the power exponent
---@param self torch.Tensor|table
---@param exponent? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, exponent?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.pow(self, exponent, keywords) end

---self to the power exponent
---@param exponent torch.Tensor|number|table
---@param keywords? {exponent?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:pow(exponent, keywords) end

---self to the power exponent
---@param exponent torch.Tensor|number|table
---@param keywords? {exponent?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:pow_(exponent, keywords) end

---angle of the point (other, self)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.atan2(self, other, keywords) end

---angle of the point (other, self)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:atan2(other, keywords) end

---angle of the point (other, self)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:atan2_(other, keywords) end

---sqrt(self^2 + other^2)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.hypot(self, other, keywords) end

---sqrt(self^2 + other^2)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:hypot(other, keywords) end

---sqrt(self^2 + other^2)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:hypot_(other, keywords) end

---larger of the two, element by element
---@param self torch.Tensor|table
---@param other? torch.Tensor
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.maximum(self, other, keywords) end

---larger of the two, element by element
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:maximum(other, keywords) end

---smaller of the two, element by element
---@param self torch.Tensor|table
---@param other? torch.Tensor
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.minimum(self, other, keywords) end

---smaller of the two, element by element
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:minimum(other, keywords) end

---self + weight * (end - self)
---@param self torch.Tensor|table
---@param End? torch.Tensor
---@param weight? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, End?: torch.Tensor, weight?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.lerp(self, End, weight, keywords) end

---self + weight * (end - self)
---@param End torch.Tensor|table
---@param weight? torch.Tensor|number
---@param keywords? {End?: torch.Tensor, weight?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:lerp(End, weight, keywords) end

---self + weight * (end - self)
---@param End torch.Tensor|table
---@param weight? torch.Tensor|number
---@param keywords? {End?: torch.Tensor, weight?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:lerp_(End, weight, keywords) end

---self + value * tensor1 * tensor2
---@param self torch.Tensor|table
---@param tensor1? torch.Tensor
---@param tensor2? torch.Tensor
---@param keywords? {self?: torch.Tensor, tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.addcmul(self, tensor1, tensor2, keywords) end

---self + value * tensor1 * tensor2
---@param tensor1 torch.Tensor|table
---@param tensor2? torch.Tensor
---@param keywords? {tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number}
---@return torch.Tensor
function Tensor:addcmul(tensor1, tensor2, keywords) end

---self + value * tensor1 * tensor2
---@param tensor1 torch.Tensor|table
---@param tensor2? torch.Tensor
---@param keywords? {tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number}
---@return torch.Tensor
function Tensor:addcmul_(tensor1, tensor2, keywords) end

---self + value * tensor1 / tensor2
---@param self torch.Tensor|table
---@param tensor1? torch.Tensor
---@param tensor2? torch.Tensor
---@param keywords? {self?: torch.Tensor, tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.addcdiv(self, tensor1, tensor2, keywords) end

---self + value * tensor1 / tensor2
---@param tensor1 torch.Tensor|table
---@param tensor2? torch.Tensor
---@param keywords? {tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number}
---@return torch.Tensor
function Tensor:addcdiv(tensor1, tensor2, keywords) end

---self + value * tensor1 / tensor2
---@param tensor1 torch.Tensor|table
---@param tensor2? torch.Tensor
---@param keywords? {tensor1?: torch.Tensor, tensor2?: torch.Tensor, value?: number}
---@return torch.Tensor
function Tensor:addcdiv_(tensor1, tensor2, keywords) end

---values below min become min, above max become max
---@param self torch.Tensor|table
---@param min? torch.Tensor|number
---@param max? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, min?: torch.Tensor|number, max?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.clamp(self, min, max, keywords) end

---values below min become min, above max become max
---@param min? torch.Tensor|number
---@param max? torch.Tensor|number
---@param keywords? {min?: torch.Tensor|number, max?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp(min, max, keywords) end

---values below min become min, above max become max
---@param min? torch.Tensor|number
---@param max? torch.Tensor|number
---@param keywords? {min?: torch.Tensor|number, max?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp_(min, max, keywords) end

---values below min become min
---@param self torch.Tensor|table
---@param min? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, min?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.clamp_min(self, min, keywords) end

---values below min become min
---@param min torch.Tensor|number|table
---@param keywords? {min?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp_min(min, keywords) end

---values below min become min
---@param min torch.Tensor|number|table
---@param keywords? {min?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp_min_(min, keywords) end

---values above max become max
---@param self torch.Tensor|table
---@param max? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, max?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.clamp_max(self, max, keywords) end

---values above max become max
---@param max torch.Tensor|number|table
---@param keywords? {max?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp_max(max, keywords) end

---values above max become max
---@param max torch.Tensor|number|table
---@param keywords? {max?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:clamp_max_(max, keywords) end

---self where condition is true, other elsewhere
---@param condition torch.Tensor|table
---@param self? torch.Tensor|number
---@param other? torch.Tensor|number
---@param keywords? {condition?: torch.Tensor, self?: torch.Tensor|number, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.where(condition, self, other, keywords) end

---self where condition is true, other elsewhere
---@param self torch.Tensor|number|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor|number, other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:where(self, other, keywords) end

---value where mask is true, self elsewhere
---@param self torch.Tensor|table
---@param mask? torch.Tensor
---@param value? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, mask?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function torch.masked_fill(self, mask, value, keywords) end

---value where mask is true, self elsewhere
---@param mask torch.Tensor|table
---@param value? torch.Tensor|number
---@param keywords? {mask?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:masked_fill(mask, value, keywords) end

---value where mask is true, self elsewhere
---@param mask torch.Tensor|table
---@param value? torch.Tensor|number
---@param keywords? {mask?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:masked_fill_(mask, value, keywords) end

---self == other, element by element (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.eq(self, other, keywords) end

---self == other, element by element (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:eq(other, keywords) end

---self == other, element by element (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:eq_(other, keywords) end

---self != other (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.ne(self, other, keywords) end

---self != other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:ne(other, keywords) end

---self != other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:ne_(other, keywords) end

---self < other (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.lt(self, other, keywords) end

---self < other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:lt(other, keywords) end

---self < other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:lt_(other, keywords) end

---self <= other (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.le(self, other, keywords) end

---self <= other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:le(other, keywords) end

---self <= other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:le_(other, keywords) end

---self > other (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.gt(self, other, keywords) end

---self > other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:gt(other, keywords) end

---self > other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:gt_(other, keywords) end

---self >= other (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.ge(self, other, keywords) end

---self >= other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:ge(other, keywords) end

---self >= other (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:ge_(other, keywords) end

---|self - other| <= atol + rtol * |other| (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor, rtol?: number, atol?: number, equal_nan?: boolean}
---@return torch.Tensor
function torch.isclose(self, other, rtol, atol, equal_nan, keywords) end

---|self - other| <= atol + rtol * |other| (bool)
---@param other torch.Tensor|table
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean
---@param keywords? {other?: torch.Tensor, rtol?: number, atol?: number, equal_nan?: boolean}
---@return torch.Tensor
function Tensor:isclose(other, rtol, atol, equal_nan, keywords) end

---both are non-zero (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.logical_and(self, other, keywords) end

---both are non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_and(other, keywords) end

---both are non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_and_(other, keywords) end

---at least one is non-zero (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.logical_or(self, other, keywords) end

---at least one is non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_or(other, keywords) end

---at least one is non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_or_(other, keywords) end

---exactly one is non-zero (bool)
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.logical_xor(self, other, keywords) end

---exactly one is non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_xor(other, keywords) end

---exactly one is non-zero (bool)
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:logical_xor_(other, keywords) end

---true where self is zero (bool)
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.logical_not(self, keywords) end

---true where self is zero (bool)
---@return torch.Tensor
function Tensor:logical_not() end

---true where self is zero (bool)
---@return torch.Tensor
function Tensor:logical_not_() end

---bits set in both; logical and for bool
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_and(self, other, keywords) end

---bits set in both; logical and for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_and(other, keywords) end

---bits set in both; logical and for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_and_(other, keywords) end

---bits set in either; logical or for bool
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_or(self, other, keywords) end

---bits set in either; logical or for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_or(other, keywords) end

---bits set in either; logical or for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_or_(other, keywords) end

---bits set in exactly one; logical xor for bool
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_xor(self, other, keywords) end

---bits set in exactly one; logical xor for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_xor(other, keywords) end

---bits set in exactly one; logical xor for bool
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_xor_(other, keywords) end

---all bits flipped; logical not for bool
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_not(self, keywords) end

---all bits flipped; logical not for bool
---@return torch.Tensor
function Tensor:bitwise_not() end

---all bits flipped; logical not for bool
---@return torch.Tensor
function Tensor:bitwise_not_() end

---self * 2^other on integers
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_left_shift(self, other, keywords) end

---self * 2^other on integers
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_left_shift(other, keywords) end

---self * 2^other on integers
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_left_shift_(other, keywords) end

---self / 2^other on integers, rounded down
---@param self torch.Tensor|table
---@param other? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor|number, out?: torch.Tensor}
---@return torch.Tensor
function torch.bitwise_right_shift(self, other, keywords) end

---self / 2^other on integers, rounded down
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_right_shift(other, keywords) end

---self / 2^other on integers, rounded down
---@param other torch.Tensor|number|table
---@param keywords? {other?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:bitwise_right_shift_(other, keywords) end

---true where self is not a number
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.isnan(self, keywords) end

---true where self is not a number
---@return torch.Tensor
function Tensor:isnan() end

---true where self is infinite
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.isinf(self, keywords) end

---true where self is infinite
---@return torch.Tensor
function Tensor:isinf() end

---true where self is neither infinite nor nan
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.isfinite(self, keywords) end

---true where self is neither infinite nor nan
---@return torch.Tensor
function Tensor:isfinite() end

----self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.neg(self, keywords) end

----self
---@return torch.Tensor
function Tensor:neg() end

----self
---@return torch.Tensor
function Tensor:neg_() end

---absolute value
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.abs(self, keywords) end

---absolute value
---@return torch.Tensor
function Tensor:abs() end

---absolute value
---@return torch.Tensor
function Tensor:abs_() end

----1, 0 or 1
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.sign(self, keywords) end

----1, 0 or 1
---@return torch.Tensor
function Tensor:sign() end

----1, 0 or 1
---@return torch.Tensor
function Tensor:sign_() end

---largest integer not above self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.floor(self, keywords) end

---largest integer not above self
---@return torch.Tensor
function Tensor:floor() end

---largest integer not above self
---@return torch.Tensor
function Tensor:floor_() end

---smallest integer not below self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.ceil(self, keywords) end

---smallest integer not below self
---@return torch.Tensor
function Tensor:ceil() end

---smallest integer not below self
---@return torch.Tensor
function Tensor:ceil_() end

---nearest integer, halves to even
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, decimals?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.round(self, keywords) end

---nearest integer, halves to even
---@param keywords? {decimals?: integer}
---@return torch.Tensor
function Tensor:round(keywords) end

---nearest integer, halves to even
---@param keywords? {decimals?: integer}
---@return torch.Tensor
function Tensor:round_(keywords) end

---fraction cut off
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.trunc(self, keywords) end

---fraction cut off
---@return torch.Tensor
function Tensor:trunc() end

---fraction cut off
---@return torch.Tensor
function Tensor:trunc_() end

---self - trunc(self)
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.frac(self, keywords) end

---self - trunc(self)
---@return torch.Tensor
function Tensor:frac() end

---self - trunc(self)
---@return torch.Tensor
function Tensor:frac_() end

---self * self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.square(self, keywords) end

---self * self
---@return torch.Tensor
function Tensor:square() end

---self * self
---@return torch.Tensor
function Tensor:square_() end

---square root
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.sqrt(self, keywords) end

---square root
---@return torch.Tensor
function Tensor:sqrt() end

---square root
---@return torch.Tensor
function Tensor:sqrt_() end

---1 / sqrt(self)
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.rsqrt(self, keywords) end

---1 / sqrt(self)
---@return torch.Tensor
function Tensor:rsqrt() end

---1 / sqrt(self)
---@return torch.Tensor
function Tensor:rsqrt_() end

---1 / self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.reciprocal(self, keywords) end

---1 / self
---@return torch.Tensor
function Tensor:reciprocal() end

---1 / self
---@return torch.Tensor
function Tensor:reciprocal_() end

---e to the self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.exp(self, keywords) end

---e to the self
---@return torch.Tensor
function Tensor:exp() end

---e to the self
---@return torch.Tensor
function Tensor:exp_() end

---2 to the self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.exp2(self, keywords) end

---2 to the self
---@return torch.Tensor
function Tensor:exp2() end

---2 to the self
---@return torch.Tensor
function Tensor:exp2_() end

---exp(self) - 1, exact near 0
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.expm1(self, keywords) end

---exp(self) - 1, exact near 0
---@return torch.Tensor
function Tensor:expm1() end

---exp(self) - 1, exact near 0
---@return torch.Tensor
function Tensor:expm1_() end

---natural logarithm
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.log(self, keywords) end

---natural logarithm
---@return torch.Tensor
function Tensor:log() end

---natural logarithm
---@return torch.Tensor
function Tensor:log_() end

---logarithm to base 2
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.log2(self, keywords) end

---logarithm to base 2
---@return torch.Tensor
function Tensor:log2() end

---logarithm to base 2
---@return torch.Tensor
function Tensor:log2_() end

---logarithm to base 10
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.log10(self, keywords) end

---logarithm to base 10
---@return torch.Tensor
function Tensor:log10() end

---logarithm to base 10
---@return torch.Tensor
function Tensor:log10_() end

---log(1 + self), exact near 0
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.log1p(self, keywords) end

---log(1 + self), exact near 0
---@return torch.Tensor
function Tensor:log1p() end

---log(1 + self), exact near 0
---@return torch.Tensor
function Tensor:log1p_() end

---sine of radians
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.sin(self, keywords) end

---sine of radians
---@return torch.Tensor
function Tensor:sin() end

---sine of radians
---@return torch.Tensor
function Tensor:sin_() end

---cosine of radians
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.cos(self, keywords) end

---cosine of radians
---@return torch.Tensor
function Tensor:cos() end

---cosine of radians
---@return torch.Tensor
function Tensor:cos_() end

---tangent of radians
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.tan(self, keywords) end

---tangent of radians
---@return torch.Tensor
function Tensor:tan() end

---tangent of radians
---@return torch.Tensor
function Tensor:tan_() end

---inverse sine
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.asin(self, keywords) end

---inverse sine
---@return torch.Tensor
function Tensor:asin() end

---inverse sine
---@return torch.Tensor
function Tensor:asin_() end

---inverse cosine
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.acos(self, keywords) end

---inverse cosine
---@return torch.Tensor
function Tensor:acos() end

---inverse cosine
---@return torch.Tensor
function Tensor:acos_() end

---inverse tangent
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.atan(self, keywords) end

---inverse tangent
---@return torch.Tensor
function Tensor:atan() end

---inverse tangent
---@return torch.Tensor
function Tensor:atan_() end

---hyperbolic sine
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.sinh(self, keywords) end

---hyperbolic sine
---@return torch.Tensor
function Tensor:sinh() end

---hyperbolic sine
---@return torch.Tensor
function Tensor:sinh_() end

---hyperbolic cosine
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.cosh(self, keywords) end

---hyperbolic cosine
---@return torch.Tensor
function Tensor:cosh() end

---hyperbolic cosine
---@return torch.Tensor
function Tensor:cosh_() end

---error function
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.erf(self, keywords) end

---error function
---@return torch.Tensor
function Tensor:erf() end

---error function
---@return torch.Tensor
function Tensor:erf_() end

---max(self, 0)
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.relu(self, keywords) end

---max(self, 0)
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function F.relu(self, keywords) end

---max(self, 0)
---@return torch.Tensor
function Tensor:relu() end

---max(self, 0)
---@return torch.Tensor
function Tensor:relu_() end

---1 / (1 + exp(-self))
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.sigmoid(self, keywords) end

---1 / (1 + exp(-self))
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function F.sigmoid(self, keywords) end

---1 / (1 + exp(-self))
---@return torch.Tensor
function Tensor:sigmoid() end

---1 / (1 + exp(-self))
---@return torch.Tensor
function Tensor:sigmoid_() end

---hyperbolic tangent
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.tanh(self, keywords) end

---hyperbolic tangent
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function F.tanh(self, keywords) end

---hyperbolic tangent
---@return torch.Tensor
function Tensor:tanh() end

---hyperbolic tangent
---@return torch.Tensor
function Tensor:tanh_() end

---x * Phi(x); approximate='tanh' for the tanh form
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor, approximate?: string}
---@return torch.Tensor
function F.gelu(input, keywords) end

---x * sigmoid(x)
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.silu(input, keywords) end

---x * tanh(softplus(x))
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.mish(input, keywords) end

---log(1 + exp(beta x)) / beta, linear above threshold
---@param input torch.Tensor|table
---@param beta? number
---@param threshold? number
---@param keywords? {input?: torch.Tensor, beta?: number, threshold?: number}
---@return torch.Tensor
function F.softplus(input, beta, threshold, keywords) end

---x, or alpha (exp(x) - 1) below 0
---@param input torch.Tensor|table
---@param alpha? number
---@param keywords? {input?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function F.elu(input, alpha, keywords) end

---self-normalising ELU
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function torch.selu(input, keywords) end

---self-normalising ELU
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.selu(input, keywords) end

---max(0,x) + min(0, alpha (exp(x/alpha) - 1))
---@param input torch.Tensor|table
---@param alpha? number
---@param keywords? {input?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function torch.celu(input, alpha, keywords) end

---max(0,x) + min(0, alpha (exp(x/alpha) - 1))
---@param input torch.Tensor|table
---@param alpha? number
---@param keywords? {input?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function F.celu(input, alpha, keywords) end

---x, or negative_slope * x below 0
---@param input torch.Tensor|table
---@param negative_slope? number
---@param keywords? {input?: torch.Tensor, negative_slope?: number}
---@return torch.Tensor
function F.leaky_relu(input, negative_slope, keywords) end

---x cut to [min_val, max_val]
---@param input torch.Tensor|table
---@param min_val? number
---@param max_val? number
---@param keywords? {input?: torch.Tensor, min_val?: number, max_val?: number}
---@return torch.Tensor
function F.hardtanh(input, min_val, max_val, keywords) end

---x cut to [0, 6]
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.relu6(input, keywords) end

---relu6(x + 3) / 6
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.hardsigmoid(input, keywords) end

---x * relu6(x + 3) / 6
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.hardswish(input, keywords) end

---log(sigmoid(x))
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.logsigmoid(input, keywords) end

---x / (1 + |x|)
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.softsign(input, keywords) end

---x - tanh(x)
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.tanhshrink(input, keywords) end

---x above threshold, value elsewhere
---@param input torch.Tensor|table
---@param threshold? number
---@param value? number
---@param keywords? {input?: torch.Tensor, threshold?: number, value?: number}
---@return torch.Tensor
function F.threshold(input, threshold, value, keywords) end

---x, or a learned slope times x below 0
---@param self torch.Tensor|table
---@param weight? torch.Tensor
---@param keywords? {self?: torch.Tensor, weight?: torch.Tensor}
---@return torch.Tensor
function torch.prelu(self, weight, keywords) end

---x, or a learned slope times x below 0
---@param self torch.Tensor|table
---@param weight? torch.Tensor
---@param keywords? {self?: torch.Tensor, weight?: torch.Tensor}
---@return torch.Tensor
function F.prelu(self, weight, keywords) end

---x, or a learned slope times x below 0
---@param weight torch.Tensor|table
---@param keywords? {weight?: torch.Tensor}
---@return torch.Tensor
function Tensor:prelu(weight, keywords) end

---first half times the sigmoid of the second
---@param input torch.Tensor|table
---@param dim? integer
---@param keywords? {input?: torch.Tensor, dim?: integer}
---@return torch.Tensor
function F.glu(input, dim, keywords) end

---sum of all elements
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil}
---@return torch.Tensor
function torch.sum(self, keywords) end

---sum of all elements
---@param keywords? {dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:sum(keywords) end

---mean of all elements
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil}
---@return torch.Tensor
function torch.mean(self, keywords) end

---mean of all elements
---@param keywords? {dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:mean(keywords) end

---product of all elements
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil}
---@return torch.Tensor
function torch.prod(self, keywords) end

---product of all elements
---@param keywords? {dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:prod(keywords) end

---largest element over dim; ties share the gradient
---@param self torch.Tensor|table
---@param dim? integer[]|integer
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.amax(self, dim, keepdim, keywords) end

---largest element over dim; ties share the gradient
---@param dim? integer[]|integer
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer, keepdim?: boolean}
---@return torch.Tensor
function Tensor:amax(dim, keepdim, keywords) end

---smallest element over dim; ties share the gradient
---@param self torch.Tensor|table
---@param dim? integer[]|integer
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.amin(self, dim, keepdim, keywords) end

---smallest element over dim; ties share the gradient
---@param dim? integer[]|integer
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer, keepdim?: boolean}
---@return torch.Tensor
function Tensor:amin(dim, keepdim, keywords) end

---largest element
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.max(self, keywords) end

---largest element
---@return torch.Tensor
function Tensor:max() end

---smallest element
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.min(self, keywords) end

---smallest element
---@return torch.Tensor
function Tensor:min() end

---index of the largest element
---@param self torch.Tensor|table
---@param dim? integer|nil
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer|nil, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.argmax(self, dim, keepdim, keywords) end

---index of the largest element
---@param dim? integer|nil
---@param keepdim? boolean
---@param keywords? {dim?: integer|nil, keepdim?: boolean}
---@return torch.Tensor
function Tensor:argmax(dim, keepdim, keywords) end

---index of the smallest element
---@param self torch.Tensor|table
---@param dim? integer|nil
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer|nil, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.argmin(self, dim, keepdim, keywords) end

---index of the smallest element
---@param dim? integer|nil
---@param keepdim? boolean
---@param keywords? {dim?: integer|nil, keepdim?: boolean}
---@return torch.Tensor
function Tensor:argmin(dim, keepdim, keywords) end

---are all elements non-zero?
---@param self torch.Tensor|table
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer|nil, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.all(self, dim, keepdim, keywords) end

---are all elements non-zero?
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer|nil, keepdim?: boolean}
---@return torch.Tensor
function Tensor:all(dim, keepdim, keywords) end

---is any element non-zero?
---@param self torch.Tensor|table
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer|nil, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.any(self, dim, keepdim, keywords) end

---is any element non-zero?
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer|nil, keepdim?: boolean}
---@return torch.Tensor
function Tensor:any(dim, keepdim, keywords) end

---variance; divides by n - 1 unless correction says otherwise
---@param self torch.Tensor|table
---@param dim? integer[]|integer|nil
---@param unbiased? boolean
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer|nil, unbiased?: boolean, keepdim?: boolean, correction?: number|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.var(self, dim, unbiased, keepdim, keywords) end

---variance; divides by n - 1 unless correction says otherwise
---@param dim? integer[]|integer|nil
---@param unbiased? boolean
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer|nil, unbiased?: boolean, keepdim?: boolean, correction?: number|nil}
---@return torch.Tensor
function Tensor:var(dim, unbiased, keepdim, keywords) end

---standard deviation; divides by n - 1 unless correction says otherwise
---@param self torch.Tensor|table
---@param dim? integer[]|integer|nil
---@param unbiased? boolean
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer|nil, unbiased?: boolean, keepdim?: boolean, correction?: number|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.std(self, dim, unbiased, keepdim, keywords) end

---standard deviation; divides by n - 1 unless correction says otherwise
---@param dim? integer[]|integer|nil
---@param unbiased? boolean
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer|nil, unbiased?: boolean, keepdim?: boolean, correction?: number|nil}
---@return torch.Tensor
function Tensor:std(dim, unbiased, keepdim, keywords) end

---p-norm; p may be inf, -inf, 0
---@param self torch.Tensor|table
---@param p? number|nil
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, p?: number|nil, dim?: integer[]|integer|nil, keepdim?: boolean, dtype?: torch.dtype|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.norm(self, p, dim, keepdim, keywords) end

---p-norm; p may be inf, -inf, 0
---@param p? number|nil
---@param dim? integer[]|integer|nil
---@param keepdim? boolean
---@param keywords? {p?: number|nil, dim?: integer[]|integer|nil, keepdim?: boolean, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:norm(p, dim, keepdim, keywords) end

---log of the sum of exponentials, without overflow
---@param self torch.Tensor|table
---@param dim? integer[]|integer
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
function torch.logsumexp(self, dim, keepdim, keywords) end

---log of the sum of exponentials, without overflow
---@param dim integer[]|integer|table
---@param keepdim? boolean
---@param keywords? {dim?: integer[]|integer, keepdim?: boolean}
---@return torch.Tensor
function Tensor:logsumexp(dim, keepdim, keywords) end

---how many elements are not zero
---@param self torch.Tensor|table
---@param dim? integer[]|integer|nil
---@param keywords? {self?: torch.Tensor, dim?: integer[]|integer|nil}
---@return torch.Tensor
function torch.count_nonzero(self, dim, keywords) end

---how many elements are not zero
---@param dim? integer[]|integer|nil
---@param keywords? {dim?: integer[]|integer|nil}
---@return torch.Tensor
function Tensor:count_nonzero(dim, keywords) end

---running sum along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.cumsum(self, dim, keywords) end

---running sum along dim
---@param dim integer|table
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:cumsum(dim, keywords) end

---running sum along dim
---@param dim integer|table
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:cumsum_(dim, keywords) end

---running product along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.cumprod(self, dim, keywords) end

---running product along dim
---@param dim integer|table
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:cumprod(dim, keywords) end

---running product along dim
---@param dim integer|table
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:cumprod_(dim, keywords) end

---lower median of all elements
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.median(self, keywords) end

---lower median of all elements
---@return torch.Tensor
function Tensor:median() end

---k-th smallest along dim (k from 1)
---@param self torch.Tensor|table
---@param k? integer
---@param dim? integer
---@param keepdim? boolean
---@param keywords? {self?: torch.Tensor, k?: integer, dim?: integer, keepdim?: boolean, out?: torch.Tensor}
---@return torch.Tensor
---@return torch.Tensor
function torch.kthvalue(self, k, dim, keepdim, keywords) end

---k-th smallest along dim (k from 1)
---@param k integer|table
---@param dim? integer
---@param keepdim? boolean
---@param keywords? {k?: integer, dim?: integer, keepdim?: boolean}
---@return torch.Tensor
---@return torch.Tensor
function Tensor:kthvalue(k, dim, keepdim, keywords) end

---sorted along dim, and where each came from
---@param self torch.Tensor|table
---@param dim? integer
---@param descending? boolean
---@param stable? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer, descending?: boolean, stable?: boolean, out?: torch.Tensor}
---@return torch.Tensor
---@return torch.Tensor
function torch.sort(self, dim, descending, stable, keywords) end

---sorted along dim, and where each came from
---@param dim? integer
---@param descending? boolean
---@param stable? boolean
---@param keywords? {dim?: integer, descending?: boolean, stable?: boolean}
---@return torch.Tensor
---@return torch.Tensor
function Tensor:sort(dim, descending, stable, keywords) end

---indices that would sort along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param descending? boolean
---@param stable? boolean
---@param keywords? {self?: torch.Tensor, dim?: integer, descending?: boolean, stable?: boolean}
---@return torch.Tensor
function torch.argsort(self, dim, descending, stable, keywords) end

---indices that would sort along dim
---@param dim? integer
---@param descending? boolean
---@param stable? boolean
---@param keywords? {dim?: integer, descending?: boolean, stable?: boolean}
---@return torch.Tensor
function Tensor:argsort(dim, descending, stable, keywords) end

---k largest along dim, and where they are
---@param self torch.Tensor|table
---@param k? integer
---@param dim? integer
---@param largest? boolean
---@param sorted? boolean
---@param keywords? {self?: torch.Tensor, k?: integer, dim?: integer, largest?: boolean, sorted?: boolean, out?: torch.Tensor}
---@return torch.Tensor
---@return torch.Tensor
function torch.topk(self, k, dim, largest, sorted, keywords) end

---k largest along dim, and where they are
---@param k integer|table
---@param dim? integer
---@param largest? boolean
---@param sorted? boolean
---@param keywords? {k?: integer, dim?: integer, largest?: boolean, sorted?: boolean}
---@return torch.Tensor
---@return torch.Tensor
function Tensor:topk(k, dim, largest, sorted, keywords) end

---how often each non-negative integer occurs
---@param self torch.Tensor|table
---@param weights? torch.Tensor|nil
---@param minlength? integer
---@param keywords? {self?: torch.Tensor, weights?: torch.Tensor|nil, minlength?: integer}
---@return torch.Tensor
function torch.bincount(self, weights, minlength, keywords) end

---how often each non-negative integer occurs
---@param weights? torch.Tensor|nil
---@param minlength? integer
---@param keywords? {weights?: torch.Tensor|nil, minlength?: integer}
---@return torch.Tensor
function Tensor:bincount(weights, minlength, keywords) end

---counts in equal bins between min and max
---@param self torch.Tensor|table
---@param bins? integer
---@param min? number
---@param max? number
---@param keywords? {self?: torch.Tensor, bins?: integer, min?: number, max?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.histc(self, bins, min, max, keywords) end

---counts in equal bins between min and max
---@param bins? integer
---@param min? number
---@param max? number
---@param keywords? {bins?: integer, min?: number, max?: number}
---@return torch.Tensor
function Tensor:histc(bins, min, max, keywords) end

---exp(x) / sum of exp(x) along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param dtype? torch.dtype|nil
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.softmax(self, dim, dtype, keywords) end

---exp(x) / sum of exp(x) along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param dtype? torch.dtype|nil
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function F.softmax(self, dim, dtype, keywords) end

---exp(x) / sum of exp(x) along dim
---@param dim integer|table
---@param dtype? torch.dtype|nil
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:softmax(dim, dtype, keywords) end

---log of softmax along dim, without overflow
---@param self torch.Tensor|table
---@param dim? integer
---@param dtype? torch.dtype|nil
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.log_softmax(self, dim, dtype, keywords) end

---log of softmax along dim, without overflow
---@param self torch.Tensor|table
---@param dim? integer
---@param dtype? torch.dtype|nil
---@param keywords? {self?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function F.log_softmax(self, dim, dtype, keywords) end

---log of softmax along dim, without overflow
---@param dim integer|table
---@param dtype? torch.dtype|nil
---@param keywords? {dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:log_softmax(dim, dtype, keywords) end

---softmax of -x
---@param input torch.Tensor|table
---@param dim? integer
---@param dtype? torch.dtype|nil
---@param keywords? {input?: torch.Tensor, dim?: integer, dtype?: torch.dtype|nil}
---@return torch.Tensor
function F.softmin(input, dim, dtype, keywords) end

---uninitialised tensor of the given size
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.empty(size, ...) end

---tensor of zeros
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.zeros(size, ...) end

---tensor of ones
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.ones(size, ...) end

---tensor filled with fill_value
---@param size integer[]|integer|table
---@param fill_value? number
---@param keywords? {size?: integer[]|integer, fill_value?: number, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.full(size, fill_value, keywords) end

---0, 1, … up to but not including End
---@param End number|table
---@param keywords? {End?: number, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.arange(End, keywords) end

---steps numbers from start to End, both included
---@param start number|table
---@param End? number
---@param steps? integer
---@param keywords? {start?: number, End?: number, steps?: integer, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.linspace(start, End, steps, keywords) end

---base to the linspace(start, End, steps)
---@param start number|table
---@param End? number
---@param steps? integer
---@param base? number
---@param keywords? {start?: number, End?: number, steps?: integer, base?: number, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.logspace(start, End, steps, base, keywords) end

---ones on the diagonal, zeros elsewhere
---@param n integer|table
---@param m? integer|nil
---@param keywords? {n?: integer, m?: integer|nil, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.eye(n, m, keywords) end

---uninitialised tensor like self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.empty_like(self, keywords) end

---zeros like self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.zeros_like(self, keywords) end

---ones like self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.ones_like(self, keywords) end

---tensor like self filled with fill_value
---@param self torch.Tensor|table
---@param fill_value? number
---@param keywords? {self?: torch.Tensor, fill_value?: number, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.full_like(self, fill_value, keywords) end

---uniform numbers in [0, 1) like self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.rand_like(self, keywords) end

---standard normal numbers like self
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.randn_like(self, keywords) end

---integers in [low, high) like self; one bound means [0, low)
---@param self torch.Tensor|table
---@param low? integer
---@param high? integer|nil
---@param keywords? {self?: torch.Tensor, low?: integer, high?: integer|nil, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.randint_like(self, low, high, keywords) end

---uniform numbers in [0, 1)
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.rand(size, ...) end

---standard normal numbers
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.randn(size, ...) end

---integers in [0, high)
---@param high integer|table
---@param size? integer[]|integer
---@param keywords? {high?: integer, size?: integer[]|integer, generator?: torch.Generator|nil, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.randint(high, size, keywords) end

---a random order of 0 … n-1
---@param n integer|table
---@param keywords? {n?: integer, generator?: torch.Generator|nil, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.randperm(n, keywords) end

---normal numbers with given mean and std
---@param mean torch.Tensor|number|table
---@param std? torch.Tensor|number
---@param size? integer[]|integer|nil
---@param keywords? {mean?: torch.Tensor|number, std?: torch.Tensor|number, size?: integer[]|integer|nil, generator?: torch.Generator|nil}
---@return torch.Tensor
function torch.normal(mean, std, size, keywords) end

---1 with probability self, else 0
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, generator?: torch.Generator|nil}
---@return torch.Tensor
function torch.bernoulli(self, keywords) end

---1 with probability self, else 0
---@param keywords? {generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:bernoulli(keywords) end

---indices drawn with the weights in each row
---@param self torch.Tensor|table
---@param num_samples? integer
---@param replacement? boolean
---@param keywords? {self?: torch.Tensor, num_samples?: integer, replacement?: boolean, generator?: torch.Generator|nil}
---@return torch.Tensor
function torch.multinomial(self, num_samples, replacement, keywords) end

---indices drawn with the weights in each row
---@param num_samples integer|table
---@param replacement? boolean
---@param keywords? {num_samples?: integer, replacement?: boolean, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:multinomial(num_samples, replacement, keywords) end

---fill self with uniform numbers in [from, to)
---@param from? number
---@param to? number
---@param keywords? {from?: number, to?: number, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:uniform_(from, to, keywords) end

---fill self with normal numbers
---@param mean? number
---@param std? number
---@param keywords? {mean?: number, std?: number, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:normal_(mean, std, keywords) end

---fill self with random integers
---@param from? integer|nil
---@param to? integer|nil
---@param keywords? {from?: integer|nil, to?: integer|nil, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:random_(from, to, keywords) end

---fill self with 0 and 1
---@param p? torch.Tensor|number
---@param keywords? {p?: torch.Tensor|number, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:bernoulli_(p, keywords) end

---fill self with exponential numbers
---@param lambd? number
---@param keywords? {lambd?: number, generator?: torch.Generator|nil}
---@return torch.Tensor
function Tensor:exponential_(lambd, keywords) end

---set every element to value
---@param value torch.Tensor|number|table
---@param keywords? {value?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:fill_(value, keywords) end

---set every element to 0
---@return torch.Tensor
function Tensor:zero_() end

---copy src into self, with broadcasting and dtype conversion
---@param src torch.Tensor|table
---@param non_blocking? boolean
---@param keywords? {src?: torch.Tensor, non_blocking?: boolean}
---@return torch.Tensor
function Tensor:copy_(src, non_blocking, keywords) end

---zero elements with probability p, scale the rest by 1/(1-p)
---@param input torch.Tensor|table
---@param p? number
---@param training? boolean
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, p?: number, training?: boolean, inplace?: boolean}
---@return torch.Tensor
function torch.dropout(input, p, training, inplace, keywords) end

---zero elements with probability p, scale the rest by 1/(1-p)
---@param input torch.Tensor|table
---@param p? number
---@param training? boolean
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, p?: number, training?: boolean, inplace?: boolean}
---@return torch.Tensor
function F.dropout(input, p, training, inplace, keywords) end

---zero whole channels with probability p
---@param input torch.Tensor|table
---@param p? number
---@param training? boolean
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, p?: number, training?: boolean, inplace?: boolean}
---@return torch.Tensor
function F.dropout2d(input, p, training, inplace, keywords) end

---dropout with its mask: what F.dropout runs on a GPU
---@param input torch.Tensor|table
---@param p? number
---@param train? boolean|nil
---@param keywords? {input?: torch.Tensor, p?: number, train?: boolean|nil}
---@return torch.Tensor
---@return torch.Tensor
function torch.native_dropout(input, p, train, keywords) end

---a copy that gradients pass through
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor, memory_format?: string|nil}
---@return torch.Tensor
function torch.clone(self, keywords) end

---a copy that gradients pass through
---@param keywords? {memory_format?: string|nil}
---@return torch.Tensor
function Tensor:clone(keywords) end

---self, or a row-major copy of it
---@return torch.Tensor
function Tensor:contiguous() end

---same data with another size; never copies
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:view(size, ...) end

---another size; a view where possible, else a copy
---@param self torch.Tensor|table
---@param shape? integer[]|integer
---@param keywords? {self?: torch.Tensor, shape?: integer[]|integer}
---@return torch.Tensor
function torch.reshape(self, shape, keywords) end

---another size; a view where possible, else a copy
---@param shape integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:reshape(shape, ...) end

---dimensions in the given order
---@param self torch.Tensor|table
---@param dims? integer[]|integer
---@param keywords? {self?: torch.Tensor, dims?: integer[]|integer}
---@return torch.Tensor
function torch.permute(self, dims, keywords) end

---dimensions in the given order
---@param dims integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:permute(dims, ...) end

---two dimensions swapped
---@param self torch.Tensor|table
---@param dim0? integer
---@param dim1? integer
---@param keywords? {self?: torch.Tensor, dim0?: integer, dim1?: integer}
---@return torch.Tensor
function torch.transpose(self, dim0, dim1, keywords) end

---two dimensions swapped
---@param dim0 integer|table
---@param dim1? integer
---@param keywords? {dim0?: integer, dim1?: integer}
---@return torch.Tensor
function Tensor:transpose(dim0, dim1, keywords) end

---transpose of a matrix
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.t(self, keywords) end

---transpose of a matrix
---@return torch.Tensor
function Tensor:t() end

---size-1 dimensions repeated without copying; -1 keeps a size
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:expand(size, ...) end

---expand to the size of other
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:expand_as(other, keywords) end

---view with the size of other
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:view_as(other, keywords) end

---reshape to the size of other
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:reshape_as(other, keywords) end

---without any dimension of size 1
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.squeeze(self, keywords) end

---without any dimension of size 1
---@return torch.Tensor
function Tensor:squeeze() end

---with a dimension of size 1 inserted at dim
---@param self torch.Tensor|table
---@param dim? integer
---@param keywords? {self?: torch.Tensor, dim?: integer}
---@return torch.Tensor
function torch.unsqueeze(self, dim, keywords) end

---with a dimension of size 1 inserted at dim
---@param dim integer|table
---@param keywords? {dim?: integer}
---@return torch.Tensor
function Tensor:unsqueeze(dim, keywords) end

---dimensions start_dim … end_dim merged into one
---@param self torch.Tensor|table
---@param start_dim? integer
---@param end_dim? integer
---@param keywords? {self?: torch.Tensor, start_dim?: integer, end_dim?: integer}
---@return torch.Tensor
function torch.flatten(self, start_dim, end_dim, keywords) end

---dimensions start_dim … end_dim merged into one
---@param start_dim? integer
---@param end_dim? integer
---@param keywords? {start_dim?: integer, end_dim?: integer}
---@return torch.Tensor
function Tensor:flatten(start_dim, end_dim, keywords) end

---one dimension split into sizes
---@param self torch.Tensor|table
---@param dim? integer
---@param sizes? integer[]|integer
---@param keywords? {self?: torch.Tensor, dim?: integer, sizes?: integer[]|integer}
---@return torch.Tensor
function torch.unflatten(self, dim, sizes, keywords) end

---one dimension split into sizes
---@param dim integer|table
---@param sizes? integer[]|integer
---@param keywords? {dim?: integer, sizes?: integer[]|integer}
---@return torch.Tensor
function Tensor:unflatten(dim, sizes, keywords) end

---one dimension
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.ravel(self, keywords) end

---one dimension
---@return torch.Tensor
function Tensor:ravel() end

---dimensions moved to new places
---@param self torch.Tensor|table
---@param source? integer[]|integer
---@param destination? integer[]|integer
---@param keywords? {self?: torch.Tensor, source?: integer[]|integer, destination?: integer[]|integer}
---@return torch.Tensor
function torch.movedim(self, source, destination, keywords) end

---dimensions moved to new places
---@param source integer[]|integer|table
---@param destination? integer[]|integer
---@param keywords? {source?: integer[]|integer, destination?: integer[]|integer}
---@return torch.Tensor
function Tensor:movedim(source, destination, keywords) end

---one slice along dim, without that dim
---@param self torch.Tensor|table
---@param dim? integer
---@param index? integer
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: integer}
---@return torch.Tensor
function torch.select(self, dim, index, keywords) end

---one slice along dim, without that dim
---@param dim integer|table
---@param index? integer
---@param keywords? {dim?: integer, index?: integer}
---@return torch.Tensor
function Tensor:select(dim, index, keywords) end

---length elements of dim from start
---@param self torch.Tensor|table
---@param dim? integer
---@param start? integer
---@param length? integer
---@param keywords? {self?: torch.Tensor, dim?: integer, start?: integer, length?: integer}
---@return torch.Tensor
function torch.narrow(self, dim, start, length, keywords) end

---length elements of dim from start
---@param dim integer|table
---@param start? integer
---@param length? integer
---@param keywords? {dim?: integer, start?: integer, length?: integer}
---@return torch.Tensor
function Tensor:narrow(dim, start, length, keywords) end

---view of a diagonal
---@param self torch.Tensor|table
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@param keywords? {self?: torch.Tensor, offset?: integer, dim1?: integer, dim2?: integer}
---@return torch.Tensor
function torch.diagonal(self, offset, dim1, dim2, keywords) end

---view of a diagonal
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@param keywords? {offset?: integer, dim1?: integer, dim2?: integer}
---@return torch.Tensor
function Tensor:diagonal(offset, dim1, dim2, keywords) end

---overlapping windows of dimension, as a view
---@param dimension integer|table
---@param size? integer
---@param step? integer
---@param keywords? {dimension?: integer, size?: integer, step?: integer}
---@return torch.Tensor
function Tensor:unfold(dimension, size, step, keywords) end

---view with given sizes and strides
---@param self torch.Tensor|table
---@param size? integer[]|integer
---@param stride? integer[]|integer
---@param storage_offset? integer|nil
---@param keywords? {self?: torch.Tensor, size?: integer[]|integer, stride?: integer[]|integer, storage_offset?: integer|nil}
---@return torch.Tensor
function torch.as_strided(self, size, stride, storage_offset, keywords) end

---view with given sizes and strides
---@param size integer[]|integer|table
---@param stride? integer[]|integer
---@param storage_offset? integer|nil
---@param keywords? {size?: integer[]|integer, stride?: integer[]|integer, storage_offset?: integer|nil}
---@return torch.Tensor
function Tensor:as_strided(size, stride, storage_offset, keywords) end

---the same data, out of the graph
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.detach(self, keywords) end

---the same data, out of the graph
---@return torch.Tensor
function Tensor:detach() end

---pieces of split_size along dim
---@param self torch.Tensor|table
---@param split_size? integer
---@param dim? integer
---@param keywords? {self?: torch.Tensor, split_size?: integer, dim?: integer}
---@return torch.Tensor[]
function torch.split(self, split_size, dim, keywords) end

---pieces of split_size along dim
---@param split_size integer|table
---@param dim? integer
---@param keywords? {split_size?: integer, dim?: integer}
---@return torch.Tensor[]
function Tensor:split(split_size, dim, keywords) end

---at most chunks equal pieces along dim
---@param self torch.Tensor|table
---@param chunks? integer
---@param dim? integer
---@param keywords? {self?: torch.Tensor, chunks?: integer, dim?: integer}
---@return torch.Tensor[]
function torch.chunk(self, chunks, dim, keywords) end

---at most chunks equal pieces along dim
---@param chunks integer|table
---@param dim? integer
---@param keywords? {chunks?: integer, dim?: integer}
---@return torch.Tensor[]
function Tensor:chunk(chunks, dim, keywords) end

---all slices along dim
---@param self torch.Tensor|table
---@param dim? integer
---@param keywords? {self?: torch.Tensor, dim?: integer}
---@return torch.Tensor[]
function torch.unbind(self, dim, keywords) end

---all slices along dim
---@param dim? integer
---@param keywords? {dim?: integer}
---@return torch.Tensor[]
function Tensor:unbind(dim, keywords) end

---tensors joined along an existing dim
---@param tensors torch.Tensor[]|table
---@param dim? integer
---@param keywords? {tensors?: torch.Tensor[], dim?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.cat(tensors, dim, keywords) end

---tensors joined along a new dim
---@param tensors torch.Tensor[]|table
---@param dim? integer
---@param keywords? {tensors?: torch.Tensor[], dim?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.stack(tensors, dim, keywords) end

---copies laid side by side along each dim
---@param repeats integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:Repeat(repeats, ...) end

---as numpy's tile
---@param self torch.Tensor|table
---@param dims? integer[]|integer
---@param keywords? {self?: torch.Tensor, dims?: integer[]|integer}
---@return torch.Tensor
function torch.tile(self, dims, keywords) end

---as numpy's tile
---@param dims integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:tile(dims, ...) end

---each element repeated
---@param self torch.Tensor|table
---@param repeats? torch.Tensor|number
---@param dim? integer|nil
---@param keywords? {self?: torch.Tensor, repeats?: torch.Tensor|number, dim?: integer|nil}
---@return torch.Tensor
function torch.repeat_interleave(self, repeats, dim, keywords) end

---each element repeated
---@param repeats torch.Tensor|number|table
---@param dim? integer|nil
---@param keywords? {repeats?: torch.Tensor|number, dim?: integer|nil}
---@return torch.Tensor
function Tensor:repeat_interleave(repeats, dim, keywords) end

---order reversed along dims
---@param self torch.Tensor|table
---@param dims? integer[]|integer
---@param keywords? {self?: torch.Tensor, dims?: integer[]|integer}
---@return torch.Tensor
function torch.flip(self, dims, keywords) end

---order reversed along dims
---@param dims integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:flip(dims, ...) end

---elements shifted along dims, wrapping around
---@param self torch.Tensor|table
---@param shifts? integer[]|integer
---@param dims? integer[]|integer
---@param keywords? {self?: torch.Tensor, shifts?: integer[]|integer, dims?: integer[]|integer}
---@return torch.Tensor
function torch.roll(self, shifts, dims, keywords) end

---elements shifted along dims, wrapping around
---@param shifts integer[]|integer|table
---@param dims? integer[]|integer
---@param keywords? {shifts?: integer[]|integer, dims?: integer[]|integer}
---@return torch.Tensor
function Tensor:roll(shifts, dims, keywords) end

---lower triangle, zeros elsewhere
---@param self torch.Tensor|table
---@param diagonal? integer
---@param keywords? {self?: torch.Tensor, diagonal?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.tril(self, diagonal, keywords) end

---lower triangle, zeros elsewhere
---@param diagonal? integer
---@param keywords? {diagonal?: integer}
---@return torch.Tensor
function Tensor:tril(diagonal, keywords) end

---lower triangle, zeros elsewhere
---@param diagonal? integer
---@param keywords? {diagonal?: integer}
---@return torch.Tensor
function Tensor:tril_(diagonal, keywords) end

---upper triangle, zeros elsewhere
---@param self torch.Tensor|table
---@param diagonal? integer
---@param keywords? {self?: torch.Tensor, diagonal?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.triu(self, diagonal, keywords) end

---upper triangle, zeros elsewhere
---@param diagonal? integer
---@param keywords? {diagonal?: integer}
---@return torch.Tensor
function Tensor:triu(diagonal, keywords) end

---upper triangle, zeros elsewhere
---@param diagonal? integer
---@param keywords? {diagonal?: integer}
---@return torch.Tensor
function Tensor:triu_(diagonal, keywords) end

---diagonal of a matrix, or a matrix with this diagonal
---@param self torch.Tensor|table
---@param diagonal? integer
---@param keywords? {self?: torch.Tensor, diagonal?: integer, out?: torch.Tensor}
---@return torch.Tensor
function torch.diag(self, diagonal, keywords) end

---diagonal of a matrix, or a matrix with this diagonal
---@param diagonal? integer
---@param keywords? {diagonal?: integer}
---@return torch.Tensor
function Tensor:diag(diagonal, keywords) end

---the last dim laid on a diagonal
---@param self torch.Tensor|table
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@param keywords? {self?: torch.Tensor, offset?: integer, dim1?: integer, dim2?: integer}
---@return torch.Tensor
function torch.diag_embed(self, offset, dim1, dim2, keywords) end

---the last dim laid on a diagonal
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@param keywords? {offset?: integer, dim1?: integer, dim2?: integer}
---@return torch.Tensor
function Tensor:diag_embed(offset, dim1, dim2, keywords) end

---sum of the diagonal
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.trace(self, keywords) end

---sum of the diagonal
---@return torch.Tensor
function Tensor:trace() end

---padding from the last dim backwards: constant, reflect, replicate, circular
---@param input torch.Tensor|table
---@param pad? integer[]|integer
---@param mode? string
---@param value? number|nil
---@param keywords? {input?: torch.Tensor, pad?: integer[]|integer, mode?: string, value?: number|nil}
---@return torch.Tensor
function F.pad(input, pad, mode, value, keywords) end

---expand under numpy's name
---@param self torch.Tensor|table
---@param size? integer[]|integer
---@param keywords? {self?: torch.Tensor, size?: integer[]|integer}
---@return torch.Tensor
function torch.broadcast_to(self, size, keywords) end

---expand under numpy's name
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:broadcast_to(size, ...) end

---values written (or added) where the indices say
---@param self torch.Tensor|table
---@param indices? torch.Tensor[]
---@param values? torch.Tensor
---@param accumulate? boolean
---@param keywords? {self?: torch.Tensor, indices?: torch.Tensor[], values?: torch.Tensor, accumulate?: boolean}
---@return torch.Tensor
function torch.index_put(self, indices, values, accumulate, keywords) end

---values written (or added) where the indices say
---@param indices torch.Tensor[]|table
---@param values? torch.Tensor
---@param accumulate? boolean
---@param keywords? {indices?: torch.Tensor[], values?: torch.Tensor, accumulate?: boolean}
---@return torch.Tensor
function Tensor:index_put(indices, values, accumulate, keywords) end

---values written (or added) where the indices say
---@param indices torch.Tensor[]|table
---@param values? torch.Tensor
---@param accumulate? boolean
---@param keywords? {indices?: torch.Tensor[], values?: torch.Tensor, accumulate?: boolean}
---@return torch.Tensor
function Tensor:index_put_(indices, values, accumulate, keywords) end

---elements picked along dim by an index of the same rank
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.gather(self, dim, index, keywords) end

---elements picked along dim by an index of the same rank
---@param dim integer|table
---@param index? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor}
---@return torch.Tensor
function Tensor:gather(dim, index, keywords) end

---src written along dim where index says
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param src? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, src?: torch.Tensor|number}
---@return torch.Tensor
function torch.scatter(self, dim, index, src, keywords) end

---src written along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param src? torch.Tensor|number
---@param keywords? {dim?: integer, index?: torch.Tensor, src?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:scatter(dim, index, src, keywords) end

---src written along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param src? torch.Tensor|number
---@param keywords? {dim?: integer, index?: torch.Tensor, src?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:scatter_(dim, index, src, keywords) end

---src added along dim where index says
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param src? torch.Tensor
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, src?: torch.Tensor}
---@return torch.Tensor
function torch.scatter_add(self, dim, index, src, keywords) end

---src added along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param src? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, src?: torch.Tensor}
---@return torch.Tensor
function Tensor:scatter_add(dim, index, src, keywords) end

---src added along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param src? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, src?: torch.Tensor}
---@return torch.Tensor
function Tensor:scatter_add_(dim, index, src, keywords) end

---slices along dim in the order of index
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.index_select(self, dim, index, keywords) end

---slices along dim in the order of index
---@param dim integer|table
---@param index? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor}
---@return torch.Tensor
function Tensor:index_select(dim, index, keywords) end

---slices of source added along dim where index says
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, source?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function torch.index_add(self, dim, index, source, keywords) end

---slices of source added along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, source?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function Tensor:index_add(dim, index, source, keywords) end

---slices of source added along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, source?: torch.Tensor, alpha?: number}
---@return torch.Tensor
function Tensor:index_add_(dim, index, source, keywords) end

---slices of source copied along dim where index says
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function torch.index_copy(self, dim, index, source, keywords) end

---slices of source copied along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function Tensor:index_copy(dim, index, source, keywords) end

---slices of source copied along dim where index says
---@param dim integer|table
---@param index? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {dim?: integer, index?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function Tensor:index_copy_(dim, index, source, keywords) end

---slices along dim set to value
---@param self torch.Tensor|table
---@param dim? integer
---@param index? torch.Tensor
---@param value? torch.Tensor|number
---@param keywords? {self?: torch.Tensor, dim?: integer, index?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function torch.index_fill(self, dim, index, value, keywords) end

---slices along dim set to value
---@param dim integer|table
---@param index? torch.Tensor
---@param value? torch.Tensor|number
---@param keywords? {dim?: integer, index?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:index_fill(dim, index, value, keywords) end

---slices along dim set to value
---@param dim integer|table
---@param index? torch.Tensor
---@param value? torch.Tensor|number
---@param keywords? {dim?: integer, index?: torch.Tensor, value?: torch.Tensor|number}
---@return torch.Tensor
function Tensor:index_fill_(dim, index, value, keywords) end

---elements where mask is true, in one dimension
---@param self torch.Tensor|table
---@param mask? torch.Tensor
---@param keywords? {self?: torch.Tensor, mask?: torch.Tensor}
---@return torch.Tensor
function torch.masked_select(self, mask, keywords) end

---elements where mask is true, in one dimension
---@param mask torch.Tensor|table
---@param keywords? {mask?: torch.Tensor}
---@return torch.Tensor
function Tensor:masked_select(mask, keywords) end

---elements of source placed where mask is true
---@param self torch.Tensor|table
---@param mask? torch.Tensor
---@param source? torch.Tensor
---@param keywords? {self?: torch.Tensor, mask?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function torch.masked_scatter(self, mask, source, keywords) end

---elements of source placed where mask is true
---@param mask torch.Tensor|table
---@param source? torch.Tensor
---@param keywords? {mask?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function Tensor:masked_scatter(mask, source, keywords) end

---elements of source placed where mask is true
---@param mask torch.Tensor|table
---@param source? torch.Tensor
---@param keywords? {mask?: torch.Tensor, source?: torch.Tensor}
---@return torch.Tensor
function Tensor:masked_scatter_(mask, source, keywords) end

---elements by their place in the flattened tensor
---@param self torch.Tensor|table
---@param index? torch.Tensor
---@param keywords? {self?: torch.Tensor, index?: torch.Tensor}
---@return torch.Tensor
function torch.take(self, index, keywords) end

---elements by their place in the flattened tensor
---@param index torch.Tensor|table
---@param keywords? {index?: torch.Tensor}
---@return torch.Tensor
function Tensor:take(index, keywords) end

---gather with broadcasting
---@param self torch.Tensor|table
---@param indices? torch.Tensor
---@param dim? integer|nil
---@param keywords? {self?: torch.Tensor, indices?: torch.Tensor, dim?: integer|nil, out?: torch.Tensor}
---@return torch.Tensor
function torch.take_along_dim(self, indices, dim, keywords) end

---gather with broadcasting
---@param indices torch.Tensor|table
---@param dim? integer|nil
---@param keywords? {indices?: torch.Tensor, dim?: integer|nil}
---@return torch.Tensor
function Tensor:take_along_dim(indices, dim, keywords) end

---indices of the elements that are not zero, one row each
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.nonzero(self, keywords) end

---indices of the elements that are not zero, one row each
---@return torch.Tensor
function Tensor:nonzero() end

---the same as nonzero
---@param self torch.Tensor|table
---@param keywords? {self?: torch.Tensor}
---@return torch.Tensor
function torch.argwhere(self, keywords) end

---the same as nonzero
---@return torch.Tensor
function Tensor:argwhere() end

---a 1 in the column that each integer names
---@param tensor torch.Tensor|table
---@param num_classes? integer
---@param keywords? {tensor?: torch.Tensor, num_classes?: integer}
---@return torch.Tensor
function F.one_hot(tensor, num_classes, keywords) end

---rows of weight picked by input
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param padding_idx? integer|nil
---@param max_norm? number|nil
---@param norm_type? number
---@param scale_grad_by_freq? boolean
---@param sparse? boolean
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, padding_idx?: integer|nil, max_norm?: number|nil, norm_type?: number, scale_grad_by_freq?: boolean, sparse?: boolean}
---@return torch.Tensor
function F.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, keywords) end

---where each value would be inserted
---@param sorted_sequence torch.Tensor|table
---@param self? torch.Tensor|number
---@param keywords? {sorted_sequence?: torch.Tensor, self?: torch.Tensor|number, right?: boolean}
---@return torch.Tensor
function torch.searchsorted(sorted_sequence, self, keywords) end

---matrix product (n,m) x (m,p)
---@param self torch.Tensor|table
---@param mat2? torch.Tensor
---@param keywords? {self?: torch.Tensor, mat2?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.mm(self, mat2, keywords) end

---matrix product (n,m) x (m,p)
---@param mat2 torch.Tensor|table
---@param keywords? {mat2?: torch.Tensor}
---@return torch.Tensor
function Tensor:mm(mat2, keywords) end

---batch of matrix products
---@param self torch.Tensor|table
---@param mat2? torch.Tensor
---@param keywords? {self?: torch.Tensor, mat2?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.bmm(self, mat2, keywords) end

---batch of matrix products
---@param mat2 torch.Tensor|table
---@param keywords? {mat2?: torch.Tensor}
---@return torch.Tensor
function Tensor:bmm(mat2, keywords) end

---matrix times vector
---@param self torch.Tensor|table
---@param vec? torch.Tensor
---@param keywords? {self?: torch.Tensor, vec?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.mv(self, vec, keywords) end

---matrix times vector
---@param vec torch.Tensor|table
---@param keywords? {vec?: torch.Tensor}
---@return torch.Tensor
function Tensor:mv(vec, keywords) end

---inner product of two vectors
---@param self torch.Tensor|table
---@param tensor? torch.Tensor
---@param keywords? {self?: torch.Tensor, tensor?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.dot(self, tensor, keywords) end

---inner product of two vectors
---@param tensor torch.Tensor|table
---@param keywords? {tensor?: torch.Tensor}
---@return torch.Tensor
function Tensor:dot(tensor, keywords) end

---beta * self + alpha * (mat1 @ mat2)
---@param self torch.Tensor|table
---@param mat1? torch.Tensor
---@param mat2? torch.Tensor
---@param keywords? {self?: torch.Tensor, mat1?: torch.Tensor, mat2?: torch.Tensor, beta?: number, alpha?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.addmm(self, mat1, mat2, keywords) end

---beta * self + alpha * (mat1 @ mat2)
---@param mat1 torch.Tensor|table
---@param mat2? torch.Tensor
---@param keywords? {mat1?: torch.Tensor, mat2?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:addmm(mat1, mat2, keywords) end

---beta * self + alpha * (mat1 @ mat2)
---@param mat1 torch.Tensor|table
---@param mat2? torch.Tensor
---@param keywords? {mat1?: torch.Tensor, mat2?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:addmm_(mat1, mat2, keywords) end

---beta * self + alpha * bmm(batch1, batch2)
---@param self torch.Tensor|table
---@param batch1? torch.Tensor
---@param batch2? torch.Tensor
---@param keywords? {self?: torch.Tensor, batch1?: torch.Tensor, batch2?: torch.Tensor, beta?: number, alpha?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.baddbmm(self, batch1, batch2, keywords) end

---beta * self + alpha * bmm(batch1, batch2)
---@param batch1 torch.Tensor|table
---@param batch2? torch.Tensor
---@param keywords? {batch1?: torch.Tensor, batch2?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:baddbmm(batch1, batch2, keywords) end

---beta * self + alpha * bmm(batch1, batch2)
---@param batch1 torch.Tensor|table
---@param batch2? torch.Tensor
---@param keywords? {batch1?: torch.Tensor, batch2?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:baddbmm_(batch1, batch2, keywords) end

---beta * self + alpha * (mat @ vec)
---@param self torch.Tensor|table
---@param mat? torch.Tensor
---@param vec? torch.Tensor
---@param keywords? {self?: torch.Tensor, mat?: torch.Tensor, vec?: torch.Tensor, beta?: number, alpha?: number, out?: torch.Tensor}
---@return torch.Tensor
function torch.addmv(self, mat, vec, keywords) end

---beta * self + alpha * (mat @ vec)
---@param mat torch.Tensor|table
---@param vec? torch.Tensor
---@param keywords? {mat?: torch.Tensor, vec?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:addmv(mat, vec, keywords) end

---beta * self + alpha * (mat @ vec)
---@param mat torch.Tensor|table
---@param vec? torch.Tensor
---@param keywords? {mat?: torch.Tensor, vec?: torch.Tensor, beta?: number, alpha?: number}
---@return torch.Tensor
function Tensor:addmv_(mat, vec, keywords) end

---Python's @: dot, mv, mm or batched, by the ranks
---@param self torch.Tensor|table
---@param other? torch.Tensor
---@param keywords? {self?: torch.Tensor, other?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.matmul(self, other, keywords) end

---Python's @: dot, mv, mm or batched, by the ranks
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:matmul(other, keywords) end

---every product of two vectors' elements
---@param self torch.Tensor|table
---@param vec2? torch.Tensor
---@param keywords? {self?: torch.Tensor, vec2?: torch.Tensor, out?: torch.Tensor}
---@return torch.Tensor
function torch.outer(self, vec2, keywords) end

---every product of two vectors' elements
---@param vec2 torch.Tensor|table
---@param keywords? {vec2?: torch.Tensor}
---@return torch.Tensor
function Tensor:outer(vec2, keywords) end

---input @ weight.T + bias
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param bias? torch.Tensor|nil
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, bias?: torch.Tensor|nil}
---@return torch.Tensor
function F.linear(input, weight, bias, keywords) end

---2-d convolution of (N,C,H,W) or (C,H,W)
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param bias? torch.Tensor|nil
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param dilation? integer[]|integer
---@param groups? integer
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, bias?: torch.Tensor|nil, stride?: integer[]|integer, padding?: integer[]|integer, dilation?: integer[]|integer, groups?: integer}
---@return torch.Tensor
function torch.conv2d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---2-d convolution of (N,C,H,W) or (C,H,W)
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param bias? torch.Tensor|nil
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param dilation? integer[]|integer
---@param groups? integer
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, bias?: torch.Tensor|nil, stride?: integer[]|integer, padding?: integer[]|integer, dilation?: integer[]|integer, groups?: integer}
---@return torch.Tensor
function F.conv2d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---1-d convolution of (N,C,L) or (C,L)
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param bias? torch.Tensor|nil
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param dilation? integer[]|integer
---@param groups? integer
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, bias?: torch.Tensor|nil, stride?: integer[]|integer, padding?: integer[]|integer, dilation?: integer[]|integer, groups?: integer}
---@return torch.Tensor
function torch.conv1d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---1-d convolution of (N,C,L) or (C,L)
---@param input torch.Tensor|table
---@param weight? torch.Tensor
---@param bias? torch.Tensor|nil
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param dilation? integer[]|integer
---@param groups? integer
---@param keywords? {input?: torch.Tensor, weight?: torch.Tensor, bias?: torch.Tensor|nil, stride?: integer[]|integer, padding?: integer[]|integer, dilation?: integer[]|integer, groups?: integer}
---@return torch.Tensor
function F.conv1d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---largest value in each window
---@param input torch.Tensor|table
---@param kernel_size? integer[]|integer
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param dilation? integer[]|integer
---@param ceil_mode? boolean
---@param return_indices? boolean
---@param keywords? {input?: torch.Tensor, kernel_size?: integer[]|integer, stride?: integer[]|integer, padding?: integer[]|integer, dilation?: integer[]|integer, ceil_mode?: boolean, return_indices?: boolean}
---@return torch.Tensor
function F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, keywords) end

---mean of each window
---@param input torch.Tensor|table
---@param kernel_size? integer[]|integer
---@param stride? integer[]|integer
---@param padding? integer[]|integer
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param divisor_override? integer|nil
---@param keywords? {input?: torch.Tensor, kernel_size?: integer[]|integer, stride?: integer[]|integer, padding?: integer[]|integer, ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer|nil}
---@return torch.Tensor
function F.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, keywords) end

---mean over windows chosen to give output_size
---@param input torch.Tensor|table
---@param output_size? integer[]|integer
---@param keywords? {input?: torch.Tensor, output_size?: integer[]|integer}
---@return torch.Tensor
function F.adaptive_avg_pool2d(input, output_size, keywords) end

---normalise each channel over the batch
---@param input torch.Tensor|table
---@param running_mean? torch.Tensor|nil
---@param running_var? torch.Tensor|nil
---@param weight? torch.Tensor|nil
---@param bias? torch.Tensor|nil
---@param training? boolean
---@param momentum? number
---@param eps? number
---@param keywords? {input?: torch.Tensor, running_mean?: torch.Tensor|nil, running_var?: torch.Tensor|nil, weight?: torch.Tensor|nil, bias?: torch.Tensor|nil, training?: boolean, momentum?: number, eps?: number}
---@return torch.Tensor
function F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps, keywords) end

---normalise over the last dims
---@param input torch.Tensor|table
---@param normalized_shape? integer[]|integer
---@param weight? torch.Tensor|nil
---@param bias? torch.Tensor|nil
---@param eps? number
---@param keywords? {input?: torch.Tensor, normalized_shape?: integer[]|integer, weight?: torch.Tensor|nil, bias?: torch.Tensor|nil, eps?: number}
---@return torch.Tensor
function F.layer_norm(input, normalized_shape, weight, bias, eps, keywords) end

---normalise groups of channels
---@param input torch.Tensor|table
---@param num_groups? integer
---@param weight? torch.Tensor|nil
---@param bias? torch.Tensor|nil
---@param eps? number
---@param keywords? {input?: torch.Tensor, num_groups?: integer, weight?: torch.Tensor|nil, bias?: torch.Tensor|nil, eps?: number}
---@return torch.Tensor
function F.group_norm(input, num_groups, weight, bias, eps, keywords) end

---divide by the root mean square of the last dims
---@param input torch.Tensor|table
---@param normalized_shape? integer[]|integer
---@param weight? torch.Tensor|nil
---@param eps? number|nil
---@param keywords? {input?: torch.Tensor, normalized_shape?: integer[]|integer, weight?: torch.Tensor|nil, eps?: number|nil}
---@return torch.Tensor
function F.rms_norm(input, normalized_shape, weight, eps, keywords) end

---divide by the p-norm along dim
---@param input torch.Tensor|table
---@param p? number
---@param dim? integer
---@param eps? number
---@param keywords? {input?: torch.Tensor, p?: number, dim?: integer, eps?: number}
---@return torch.Tensor
function F.normalize(input, p, dim, eps, keywords) end

---cosine of the angle between vectors along dim
---@param x1 torch.Tensor|table
---@param x2? torch.Tensor
---@param dim? integer
---@param eps? number
---@param keywords? {x1?: torch.Tensor, x2?: torch.Tensor, dim?: integer, eps?: number}
---@return torch.Tensor
function torch.cosine_similarity(x1, x2, dim, eps, keywords) end

---cosine of the angle between vectors along dim
---@param x1 torch.Tensor|table
---@param x2? torch.Tensor
---@param dim? integer
---@param eps? number
---@param keywords? {x1?: torch.Tensor, x2?: torch.Tensor, dim?: integer, eps?: number}
---@return torch.Tensor
function F.cosine_similarity(x1, x2, dim, eps, keywords) end

---p-norm of the difference of two vectors
---@param x1 torch.Tensor|table
---@param x2? torch.Tensor
---@param p? number
---@param eps? number
---@param keepdim? boolean
---@param keywords? {x1?: torch.Tensor, x2?: torch.Tensor, p?: number, eps?: number, keepdim?: boolean}
---@return torch.Tensor
function F.pairwise_distance(x1, x2, p, eps, keepdim, keywords) end

---softmax(q k^T / sqrt(d)) v
---@param query torch.Tensor|table
---@param key? torch.Tensor
---@param value? torch.Tensor
---@param attn_mask? torch.Tensor|nil
---@param dropout_p? number
---@param is_causal? boolean
---@param keywords? {query?: torch.Tensor, key?: torch.Tensor, value?: torch.Tensor, attn_mask?: torch.Tensor|nil, dropout_p?: number, is_causal?: boolean, scale?: number|nil, enable_gqa?: boolean}
---@return torch.Tensor
function F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, keywords) end

---log_softmax and nll_loss of raw scores; target: class indices or probabilities
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param weight? torch.Tensor|nil
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, weight?: torch.Tensor|nil, ignore_index?: integer, reduction?: string, label_smoothing?: number}
---@return torch.Tensor
function F.cross_entropy(input, target, weight, keywords) end

---negative log likelihood of log-probabilities
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param weight? torch.Tensor|nil
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, weight?: torch.Tensor|nil, ignore_index?: integer, reduction?: string}
---@return torch.Tensor
function F.nll_loss(input, target, weight, keywords) end

---mean of squared differences
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string}
---@return torch.Tensor
function F.mse_loss(input, target, keywords) end

---mean of absolute differences
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string}
---@return torch.Tensor
function F.l1_loss(input, target, keywords) end

---squared below beta, absolute above
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string, beta?: number}
---@return torch.Tensor
function F.smooth_l1_loss(input, target, keywords) end

---squared below delta, delta times absolute above
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string, delta?: number}
---@return torch.Tensor
function F.huber_loss(input, target, keywords) end

---cross entropy of probabilities against 0/1 targets
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param weight? torch.Tensor|nil
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, weight?: torch.Tensor|nil, reduction?: string}
---@return torch.Tensor
function F.binary_cross_entropy(input, target, weight, keywords) end

---sigmoid and binary cross entropy in one, without overflow
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param weight? torch.Tensor|nil
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, weight?: torch.Tensor|nil, reduction?: string, pos_weight?: torch.Tensor|nil}
---@return torch.Tensor
function F.binary_cross_entropy_with_logits(input, target, weight, keywords) end

---Kullback-Leibler divergence of log-probabilities
---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string, log_target?: boolean}
---@return torch.Tensor
function F.kl_div(input, target, keywords) end

